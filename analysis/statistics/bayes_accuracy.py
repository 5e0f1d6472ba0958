"""Bayes accuracies of a probe: how often the best possible guess is right, by how much of the text it may use."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.quantities import EXCESS_LOSS, is_probe_score, probe_quantity, probe_task
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing
from analysis.statistics.intervals import Interval

CONTEXTS = {
    "token": "token alone",
    "past": "past only: bound for causal models",
    "both": "both sides: bound for any model",
}


@dataclass(frozen=True)
class BayesAccuracies:
    """Bayes accuracy of one probe from the token alone, from the past, and from both sides."""

    quantity: str
    """The probe's own accuracy, which they bound."""
    token: float
    past: float
    both: float

    @property
    def labelled(self) -> list[tuple[str, str, float]]:
        """Context, its name in words, and its accuracy, from the lowest."""
        return [(context, words, getattr(self, context)) for context, words in CONTEXTS.items()]


def bayes_accuracies(results: Results) -> list[BayesAccuracies]:
    """Of every probe for which all three were recorded."""
    found = (bayes_accuracies_of(results, quantity) for quantity in results.shared_metrics)
    return [known for known in found if known is not None]


def bayes_accuracies_of(results: Results, quantity: str) -> BayesAccuracies | None:
    """Those that bound a recorded quantity; None where they are not known, or where it is no probe's accuracy."""
    if not is_probe_score(quantity) or not quantity.endswith("/accuracy"):
        return None
    task = probe_task(quantity)
    values = {context: results.constant(probe_quantity(task, f"bayes_accuracy_{context}")) for context in CONTEXTS}
    known = {context: value for context, value in values.items() if value is not None}
    return BayesAccuracies(quantity, **known) if len(known) == len(CONTEXTS) else None


def rules_are_known(results: Results) -> bool:
    """True where both the excess loss and the Bayes accuracies of a probe were recorded."""
    return EXCESS_LOSS in results.quantities and bool(bayes_accuracies(results))


def verdict_on_past(arm: Arm, score: Interval | Missing, past: float) -> str:
    """Where an arm's interval over seeds lies beside the Bayes accuracy from the past."""
    if isinstance(score, Missing):
        return str(score)
    if score.no_conclusion or score.low is None or score.high is None:
        return score.no_conclusion
    if score.low > past:
        above = "above what any causal model can reach"
        return f"{above}, although it is causal: luck of the test blocks, or an error" if arm.is_causal else above
    if score.high < past:
        return "below the best that a causal model can reach"
    return "not distinguishable from the best that a causal model can reach"
