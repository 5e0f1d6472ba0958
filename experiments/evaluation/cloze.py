"""Loss at common mask rates: all objectives that predict masked tokens fill the same gaps."""

from __future__ import annotations

from torch import Tensor

from experiments.evaluation.excess_loss import NATS, excess_quantities
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import with_standard_error
from experiments.evaluation.validation_loss import validation_loss
from experiments.records.quantities import Quantity
from objectives import Corruption, Key, Objective, View
from objectives.mlm import at_earlier_positions, cloze

RECORDED = ("loss", "loss_standard_error", "excess_loss", "excess_loss_standard_error")


class Cloze(SharedMetric):
    """The loss at some mask rates and with BERT's mix, whatever the objective's own corruption; and the excess loss,
    where it is known. One that predicts a token at the position before it has no answer to a gap at the beginning of a
    block, and is not asked.

    Args:
        rates: the mask rates.
    """

    def __init__(self, rates: tuple[float, ...] = (0.15, 0.3, 0.5)) -> None:
        self.corruptions = [Corruption(rate=rate) for rate in rates]  # refuses what is no rate
        self.rates = rates
        if not rates or len(set(rates)) < len(rates):
            raise ValueError(f"rates must be different mask rates, at least one, but are {rates}")

    def quantities(self) -> list[Quantity]:
        description = (
            "The same gaps for every arm that can predict what [MASK] hides, with 80/10/10, whatever it was trained "
            "with; the loss can be compared among these arms."
        )
        found: list[Quantity] = []
        for rate in self.rates:
            where, words = f"cloze/{rate:g}", f"at {100 * rate:g} % masked"
            loss = Quantity(
                f"{where}/loss",
                f"validation loss {words}",
                NATS,
                better="lower",
                comparable="all",
                headline=False,
                figure="common mask rates",
                description=description,
            )
            found += with_standard_error(loss)
            found += excess_quantities(where, f"excess loss {words}", "excess loss at common mask rates")
        return found

    def measure(self, objective: Objective) -> dict[str, float]:
        if "pll" not in objective.traits.scores:
            raise NotMeasured(f"{objective.traits.name} does not predict what [MASK] hides")
        measured: dict[str, float] = {}
        for rate, corruption in zip(self.rates, self.corruptions, strict=True):

            def views(tokens_BT: Tensor, key: Key, corruption: Corruption = corruption) -> tuple[View, ...]:
                view = cloze(tokens_BT, key, corruption, objective.vocabulary)
                return (at_earlier_positions(view, objective.traits.mask_shift),)

            found = validation_loss(objective, self.data, views)
            measured |= {f"cloze/{rate:g}/{name}": found[name] for name in RECORDED if name in found}
        return measured
