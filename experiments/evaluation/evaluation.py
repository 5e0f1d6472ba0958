"""What is measured at a snapshot: the objective's own loss, and the metrics that objectives share."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.data import BlockData
from experiments.evaluation.cloze import cloze_loss, fills_masks
from experiments.evaluation.linear_probe import linear_probe
from experiments.evaluation.validation_loss import validation_loss
from experiments.evaluation.word_swap import prefer_original, word_swap_pairs
from objectives import Corruption, Objective


@dataclass(frozen=True)
class EvaluationConfig:
    """When and on what a run is evaluated."""

    snapshots: int = 8
    """Number of evaluations, at log-spaced token counts up to the budget; the weights are kept at each."""
    first_tokens: int | None = None
    """Tokens at the first of them; a 64th of the budget when not given."""
    mask_rates: tuple[float, ...] = (0.15, 0.3, 0.5)
    """Mask rates at which all masked models fill the same gaps, with BERT's mix, whatever their own corruption."""
    probes: bool = True
    """Whether linear probes are fitted for the labelled tasks of the data."""
    word_swap_pairs: int = 200
    """Number of pairs for word swap; 0 leaves it out."""
    longest_sentence: int = 40
    """Longest sentence of those pairs, in tokens: PLL costs a forward pass for each."""

    def __post_init__(self) -> None:
        for rate in self.mask_rates:
            Corruption(rate=rate)
        if self.snapshots < 1 or self.word_swap_pairs < 0:
            raise ValueError(f"snapshots must be at least 1 and word_swap_pairs at least 0, but got {self}")


class Evaluation:
    """All metrics on one data set; texts are encoded once, here.

    Calling it with an objective gives quantity -> value, with the names of metrics.csv. It draws no random numbers.
    """

    def __init__(self, data: BlockData, config: EvaluationConfig) -> None:
        self.data, self.mask_rates = data, config.mask_rates
        self.tasks = data.labelled_tasks() if config.probes else []
        self.bayes_accuracies = data.bayes_accuracies() if config.probes else {}
        count = config.word_swap_pairs
        self.pairs = word_swap_pairs(data, count, config.longest_sentence) if count else []

    def __call__(self, objective: Objective) -> dict[str, float]:
        measured = {"validation": validation_loss(objective, self.data)}
        for rate in self.mask_rates if fills_masks(objective) else ():
            measured[f"cloze/{rate:g}"] = cloze_loss(objective, self.data, rate)
        for task in self.tasks:
            bayes = self.bayes_accuracies.get(task.name, {})
            known = {f"bayes_accuracy_{view}": value for view, value in bayes.items()}
            measured[f"probe/{task.name}"] = linear_probe(objective, task) | known
        if self.pairs and objective.traits.scores:
            measured["word_swap"] = prefer_original(objective, self.pairs)
        return {f"{metric}/{name}": value for metric, values in measured.items() for name, value in values.items()}
