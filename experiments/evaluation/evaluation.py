"""What is measured at a snapshot: the run's own question, and the yardsticks that all objectives share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from experiments.data import BlockData
from experiments.evaluation.excess_loss import Excess
from experiments.evaluation.linear_probe import linear_probe
from experiments.evaluation.word_swap import prefer_original
from objectives import Batch, Corruption, Key, Objective, View, evaluation_key
from objectives.inference.language_model import inference_mode
from objectives.mlm import cloze
from objectives.training.ledger import NegativeLogLikelihood


@dataclass(frozen=True)
class EvaluationConfig:
    """When and on what a run is evaluated."""

    snapshots: int = 8
    """Number of evaluations, at log-spaced token counts up to the budget; the weights are kept at each."""
    first_tokens: int | None = None
    """Tokens at the first of them; a 64th of the budget when not given."""
    mask_rates: tuple[float, ...] = (0.15, 0.3, 0.5)
    """Mask rates at which every MLM run is asked, with BERT's mix, whatever its own corruption."""
    probes: bool = True
    """Whether the corpus's probe tasks are run."""
    word_swap_pairs: int = 200
    """Number of pairs for real-versus-scrambled; 0 leaves it out."""
    longest_sentence: int = 40
    """Longest sentence of those pairs, in tokens: PLL costs a forward pass for each."""

    def __post_init__(self) -> None:
        for rate in self.mask_rates:
            Corruption(rate=rate)
        if self.snapshots < 1 or self.word_swap_pairs < 0:
            raise ValueError(f"snapshots must be at least 1 and word_swap_pairs at least 0, but got {self}")


class Evaluation:
    """All evaluations of one data set; texts are tokenized once, here.

    Calling it gives quantity -> value, with the names of metrics.csv. It draws no random numbers.
    """

    def __init__(self, data: BlockData, config: EvaluationConfig) -> None:
        self.data, self.config = data, config
        self.probes = data.probes() if config.probes else []
        self.ceilings = data.ceilings() if config.probes else {}
        count = config.word_swap_pairs
        self.pairs = data.word_swap_pairs(count, config.longest_sentence) if count else []

    def __call__(self, objective: Objective) -> dict[str, float]:
        return self.own_loss(objective) | self.common(objective)

    def own_loss(self, objective: Objective) -> dict[str, float]:
        """Loss on the held-out blocks, on the objective's own question."""
        measured = self._ask(objective, objective.views)
        return {f"validation/{name}": value for name, value in measured.items()}

    def common(self, objective: Objective) -> dict[str, float]:
        """What can be set beside other runs: losses at common mask rates, probes, real-versus-scrambled."""
        values = dict(self.ceilings)
        if "pll" in objective.sentence_scores:  # it can be asked for what a [MASK] hides
            for rate in self.config.mask_rates:
                measured = self.loss_at_rate(objective, rate)
                kept = ("loss", "excess_loss", "excess_loss_standard_error")
                values |= {f"cloze/{rate:g}/{name}": measured[name] for name in kept if name in measured}
        for probe in self.probes:
            values |= {f"probe/{probe.name}/{name}": v for name, v in linear_probe(objective, probe).items()}
        if self.pairs:
            values |= {f"word_swap/{name}": value for name, value in prefer_original(objective, self.pairs).items()}
        return values

    def loss_at_rate(self, objective: Objective, rate: float) -> dict[str, float]:
        """Loss of a masked model at a mask rate and with a mix that may not be its own."""
        corruption = replace(Corruption(), rate=rate)
        return self._ask(
            objective,
            lambda tokens_BT, key: (cloze(tokens_BT, key, corruption, objective.vocabulary),),
        )

    def _ask(
        self,
        objective: Objective,
        views: Callable[[torch.Tensor, Key], tuple[View, ...]],
    ) -> dict[str, float]:
        metric = NegativeLogLikelihood(objective.vocabulary.characters_per_token).to(objective.device)
        excess = Excess().to(objective.device)
        with inference_mode(objective):
            for batch in self.data.val_dataloader():
                batch = Batch(*(part.to(objective.device) for part in batch))
                for view in views(batch.tokens_BT, evaluation_key(batch.index_B)):
                    predictions = objective.predict(view, batch.tokens_BT)
                    metric.update(predictions)
                    floor_BT = self.data.floor(view, batch.tokens_BT)
                    if floor_BT is not None:
                        excess.update(predictions, floor_BT)
        return metric.compute() | (excess.compute() if excess.nats else {})
