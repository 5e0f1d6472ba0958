"""The table of losses beside the Bayes loss, and of probes beside their Bayes accuracies."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.quantities import BAYES_LOSS, EXCESS_LOSS, VALIDATION_LOSS, label
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing, finished_of_planned
from analysis.statistics.bayes_accuracy import CONTEXTS, BayesAccuracies, bayes_accuracies, verdict_on_past
from analysis.statistics.compare import Comparison, mean_final_score
from analysis.tables.table import Column, Table, Value


def bayes_loss_table(group: Results, pairs: Sequence[Comparison]) -> Table:
    """Final loss, Bayes loss and excess loss by arm; and each probe of which Bayes accuracies are known."""
    probes = bayes_accuracies(group)
    columns = [
        Column("arm"),
        Column("seeds finished"),
        Column(label(VALIDATION_LOSS), "score", True),
        Column(label(BAYES_LOSS), "score"),
        Column(label(EXCESS_LOSS), "score", True),
    ]
    for known in probes:
        columns += _probe_columns(known)
    rows: list[tuple[Value, ...]] = []
    for arm in group.arms:
        losses = (mean_final_score(arm, VALIDATION_LOSS), _bayes_loss(arm), mean_final_score(arm, EXCESS_LOSS))
        row: list[Value] = [arm.name, finished_of_planned(arm.runs), *losses]
        for known in probes:
            row += _probe_values(arm, known, pairs)
        rows.append(tuple(row))
    caption = (
        "At the end of finished runs, mean over seeds [95 % t-interval]: validation loss on the arm's own question, "
        "the Bayes loss on the same question, and the difference, the only loss that can be compared between objectives"
    )
    if probes:
        caption += (
            "; accuracy of the probe beside the Bayes accuracies from the token alone, the past and both sides. "
            "Intervals are over seeds; all seeds share the probe's test blocks"
        )
    return Table("bayes_loss", f"{caption}.", tuple(columns), rows)


def _probe_columns(known: BayesAccuracies) -> list[Column]:
    name = label(known.quantity)
    return [
        Column(name, "score", True),
        *(Column(f"Bayes accuracy, {words}", "score") for words in CONTEXTS.values()),
        Column(f"{name}, difference from the reference", "signed", True),
        Column("verdict"),
    ]


def _probe_values(arm: Arm, known: BayesAccuracies, pairs: Sequence[Comparison]) -> list[Value]:
    score = mean_final_score(arm, known.quantity)
    pair = next((pair for pair in pairs if pair.arm.name == arm.name), None)
    difference: Value = "no reference" if pair is None else pair.difference(known.quantity)
    return [score, known.token, known.past, known.both, difference, verdict_on_past(arm, score, known.past)]


def _bayes_loss(arm: Arm) -> float | Missing:
    """It depends on the questions alone, so it is the same in every seed, up to which blocks are validated on."""
    found = mean_final_score(arm, BAYES_LOSS)
    return found if isinstance(found, Missing) else found.mean
