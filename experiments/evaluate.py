"""What is measured at a snapshot: the run's own question, and the yardsticks that all objectives share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from experiments.data import TextData
from experiments.probes import encode_probe, linear_probe
from experiments.scrambled import prefer_real, scrambled_pairs
from objectives import MLM, Batch, Corruption, Key, Objective, View, evaluation_key
from objectives.ledger import NegativeLogLikelihood
from objectives.mlm import cloze
from objectives.scoring import evaluating


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
    scrambled_pairs: int = 200
    """Number of pairs for real-versus-scrambled; 0 leaves it out."""
    longest_sentence: int = 40
    """Longest sentence of those pairs, in tokens: PLL costs a forward pass for each."""

    def __post_init__(self) -> None:
        for rate in self.mask_rates:
            Corruption(rate=rate)
        if self.snapshots < 1 or self.scrambled_pairs < 0:
            raise ValueError(f"snapshots must be at least 1 and scrambled_pairs at least 0, but got {self}")


class Evaluation:
    """All evaluations of one data set; texts are tokenized once, here.

    Calling it gives quantity -> value, with the names of metrics.csv. It draws no random numbers.
    """

    def __init__(self, data: TextData, config: EvaluationConfig) -> None:
        self.data, self.config = data, config
        corpus, tokenizer = data.corpus, data.tokenizer
        longest = data.block_length - 2
        probes = corpus.probes() if config.probes else []
        self.probes = [encode_probe(probe, tokenizer, longest) for probe in probes]
        self.pairs = scrambled_pairs(
            corpus.sentences() if config.scrambled_pairs else [],
            corpus.language,
            tokenizer,
            config.scrambled_pairs,
            min(config.longest_sentence, longest),
        )

    def __call__(self, objective: Objective) -> dict[str, float]:
        return {f"held_out/{name}": v for name, v in self.own_loss(objective).items()} | self.common(objective)

    def common(self, objective: Objective) -> dict[str, float]:
        """What can be set beside other runs: losses at common mask rates, probes, real-versus-scrambled."""
        values = {}
        if isinstance(objective, MLM):
            for rate in self.config.mask_rates:
                values[f"held_out/nats@{rate:g}"] = self.loss_at_rate(objective, rate)
        for probe in self.probes:
            values |= {f"probe/{probe.name}/{name}": v for name, v in linear_probe(objective, probe).items()}
        if self.pairs:
            values |= {f"scrambled/{name}": value for name, value in prefer_real(objective, self.pairs).items()}
        return values

    def own_loss(self, objective: Objective) -> dict[str, float]:
        """Loss on the held-out blocks, on the objective's own question."""
        return self._ask(objective, objective.views)

    def loss_at_rate(self, objective: Objective, rate: float) -> float:
        """Nats per target of a masked model, at a mask rate and with a mix that may not be its own."""
        corruption = replace(Corruption(), rate=rate)
        return self._ask(objective, lambda tokens_BT, key: (cloze(tokens_BT, key, corruption, objective.vocabulary),))[
            "nats"
        ]

    def _ask(self, objective: Objective, views: Callable[[torch.Tensor, Key], tuple[View, ...]]) -> dict[str, float]:
        metric = NegativeLogLikelihood(objective.vocabulary.characters_per_token).to(objective.device)
        with evaluating(objective), torch.inference_mode():
            for batch in self.data.val_dataloader():
                batch = Batch(*(part.to(objective.device) for part in batch))
                for view in views(batch.tokens_BT, evaluation_key(batch.index_B)):
                    metric.update(objective.answer(view, batch.tokens_BT))
        return metric.compute()
