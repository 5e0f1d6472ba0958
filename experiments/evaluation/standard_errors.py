"""Standard errors of scores over the items that they are measured on. README.md has the formulas.

Items that go together, such as the tokens of a block or of a text, are one cluster: they are not independent.

G clusters, K ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from experiments.records.quantities import Quantity

SUMS = 6
"""Length of what `cluster_sums` gives."""


def error_name(name: str) -> str:
    """Name of the quantity that holds the standard error of another."""
    return f"{name}_standard_error"


def with_standard_error(quantity: Quantity) -> tuple[Quantity, Quantity]:
    """A declaration that names its standard error, and the declaration of that."""
    name, label = error_name(quantity.name), f"standard error of the {quantity.label}"
    error = Quantity(name, label, quantity.unit, headline=False)
    return replace(quantity, standard_error=error.name), error


def cluster_sums(numerators_G: Tensor, denominators_G: Tensor) -> Tensor:
    """All that `ratio` needs to know of some clusters, (6,) float64; of several parts of the clusters it adds up."""
    x_G, n_G = numerators_G.double(), denominators_G.double()
    count = torch.full((), x_G.numel(), dtype=torch.float64, device=x_G.device)
    return torch.stack([count, x_G.sum(), n_G.sum(), (x_G * x_G).sum(), (x_G * n_G).sum(), (n_G * n_G).sum()])


def ratio(sums: Tensor) -> tuple[float, float]:
    """Σ x / Σ n over clusters, and its standard error: nan where there is nothing, or one cluster only."""
    clusters, x, n, xx, xn, nn = sums.tolist()
    if n == 0:
        return math.nan, math.nan
    found = x / n
    if clusters < 2:
        return found, math.nan
    squares = max(xx - 2 * found * xn + found * found * nn, 0.0) if math.isfinite(found) else math.nan
    return found, math.sqrt(clusters / (clusters - 1) * squares) / n


def mean_of_ratios(numerators_GK: Tensor, denominators_GK: Tensor) -> tuple[float, float]:
    """Mean over k of Σ x_k / Σ n_k over clusters, and its standard error by linearisation; no Σ n_k may be 0."""
    clusters = len(numerators_GK)
    totals_K = denominators_GK.double().sum(0)
    ratios_K = numerators_GK.double().sum(0) / totals_K
    deviations_G = ((numerators_GK - ratios_K * denominators_GK) / totals_K).mean(1)
    factor = clusters / (clusters - 1) if clusters > 1 else math.nan
    return ratios_K.mean().item(), math.sqrt(factor * deviations_G.square().sum().item())


def share(right_G: Sequence[float], items_G: Sequence[float]) -> tuple[float, float]:
    """Share of items that are right, Σ right / Σ items over clusters, and its standard error.

    The standard error is that with four more items, two of them right, each a cluster of its own (Agresti and Coull
    1998): it is not 0 where every item is right, nor where none is.
    """
    right_G1, items_G1 = (torch.tensor(one, dtype=torch.float64)[:, None] for one in (right_G, items_G))
    two, ones = torch.tensor([[1.0], [1.0], [0.0], [0.0]], dtype=torch.float64), torch.ones(4, 1, dtype=torch.float64)
    value = (right_G1.sum() / items_G1.sum()).item()
    return value, mean_of_ratios(torch.cat([right_G1, two]), torch.cat([items_G1, ones]))[1]
