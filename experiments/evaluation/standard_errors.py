"""Standard errors of scores over the items that they are measured on. README.md has the formulas.

Items that go together, such as the tokens of a block or of a text, are one cluster: they are not independent.

G clusters, K ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from experiments.records.quantities import Quantity

FOLDS = 20
"""Items are cut into so many parts, the same ones for every model, so that differences have a standard error too."""
FEWEST = 2 * FOLDS
"""Of fewer clusters no parts are recorded."""
MOMENTS = 6
SUMS = MOMENTS + 2 * FOLDS
"""Length of what `cluster_sums` gives."""


class Score(float):
    """A score that knows what each part of the items adds to its luck: it is recorded in quantities.json, and gives a
    difference to another score on the same items its standard error.
    """

    parts: tuple[float, ...]
    """FOLDS numbers whose sum is 0; FOLDS / (FOLDS − 1) times the sum of their squares estimates the variance. Empty
    where there are too few items."""

    def __new__(cls, value: float, parts: Sequence[float] = ()) -> Score:
        score = super().__new__(cls, value)
        score.parts = tuple(float(f"{part:.6g}") for part in parts)
        return score


def error_name(name: str) -> str:
    """Name of the quantity that holds the standard error of another."""
    return f"{name}_standard_error"


def with_standard_error(quantity: Quantity) -> tuple[Quantity, Quantity]:
    """A declaration that names its standard error, and the declaration of that."""
    name, label = error_name(quantity.name), f"standard error of the {quantity.label}"
    error = Quantity(name, label, quantity.unit, headline=False)
    return replace(quantity, standard_error=error.name), error


def folds(items: Tensor) -> Tensor:
    """The part, from 0 to FOLDS − 1, that each item belongs to, by a hash of its number: evenly spread ones too."""
    return ((items.long() * -7046029254386353131) >> 33) % FOLDS  # 2⁶⁴ over the golden ratio (Knuth 1998, 6.4)


def cluster_sums(numerators_G: Tensor, denominators_G: Tensor, fold_G: Tensor) -> Tensor:
    """All that `ratio` needs to know of some clusters, (SUMS,) float64; of several parts of the clusters it adds up."""
    x_G, n_G = numerators_G.double(), denominators_G.double()
    count = torch.full((), x_G.numel(), dtype=torch.float64, device=x_G.device)
    moments = torch.stack([count, x_G.sum(), n_G.sum(), (x_G * x_G).sum(), (x_G * n_G).sum(), (n_G * n_G).sum()])
    member_FG = (torch.arange(FOLDS, device=x_G.device)[:, None] == fold_G.to(x_G.device)).double()
    return torch.cat([moments, (member_FG * x_G).sum(1), (member_FG * n_G).sum(1)])


def ratio(sums: Tensor) -> tuple[Score, float]:
    """Σ x / Σ n over clusters, and its standard error: nan where there is nothing, or one cluster only."""
    clusters, x, n, xx, xn, nn = sums[:MOMENTS].tolist()
    if n == 0:
        return Score(math.nan), math.nan
    found = x / n
    if not math.isfinite(found) or clusters < 2:
        return Score(found), math.nan
    x_F, n_F = sums[MOMENTS:].view(2, FOLDS)
    parts = ((x_F - found * n_F) / n).tolist() if clusters >= FEWEST else ()
    squares = max(xx - 2 * found * xn + found * found * nn, 0.0)
    return Score(found, parts), math.sqrt(clusters / (clusters - 1) * squares) / n


def mean_of_ratios(numerators_GK: Tensor, denominators_GK: Tensor) -> tuple[Score, float]:
    """Mean over k of Σ x_k / Σ n_k over clusters, and its standard error by linearisation; no Σ n_k may be 0."""
    clusters = len(numerators_GK)
    totals_K = denominators_GK.double().sum(0)
    ratios_K = numerators_GK.double().sum(0) / totals_K
    deviations_G = ((numerators_GK - ratios_K * denominators_GK) / totals_K).mean(1)
    factor = clusters / (clusters - 1) if clusters > 1 else math.nan
    parts_F = torch.zeros(FOLDS, dtype=torch.float64).index_add(0, folds(torch.arange(clusters)), deviations_G.double())
    score = Score(ratios_K.mean().item(), parts_F.tolist() if clusters >= FEWEST else ())
    return score, math.sqrt(factor * deviations_G.square().sum().item())


def jackknife(statistic: Callable[[Tensor], Tensor], sums_GS: Tensor) -> tuple[Score, float]:
    """A function of sums over clusters, and its standard error, by leaving out one cluster at a time (Tukey 1958).

    Args:
        statistic: of sums (..., S) float64, (...).
        sums_GS: what each cluster adds to them.
    """
    clusters, totals_S = len(sums_GS), sums_GS.double().sum(0)
    score = statistic(totals_S).item()
    if clusters < 2:
        return Score(score), math.nan
    without_G = statistic(totals_S - sums_GS.double())
    deviations_G = (clusters - 1) / clusters * (without_G.mean() - without_G)
    parts_F = torch.zeros(FOLDS, dtype=torch.float64).index_add(0, folds(torch.arange(clusters)), deviations_G)
    error = math.sqrt(clusters / (clusters - 1) * deviations_G.square().sum().item())
    return Score(score, parts_F.tolist() if clusters >= FEWEST else ()), error


def share(right_G: Sequence[float], items_G: Sequence[float]) -> tuple[Score, float]:
    """Share of items that are right, Σ right / Σ items over clusters, and its standard error.

    The standard error is that with four more items, two of them right, each a cluster of its own (Agresti and Coull
    1998): it is not 0 where every item is right, nor where none is.
    """
    right_G1, items_G1 = (torch.tensor(one, dtype=torch.float64)[:, None] for one in (right_G, items_G))
    two, ones = torch.tensor([[1.0], [1.0], [0.0], [0.0]], dtype=torch.float64), torch.ones(4, 1, dtype=torch.float64)
    score, _ = mean_of_ratios(right_G1, items_G1)
    return score, mean_of_ratios(torch.cat([right_G1, two]), torch.cat([items_G1, ones]))[1]
