"""Totals: exact, and carried on from a checkpoint."""

import torch

from objectives.training.ledger import Ledger


def test_ledger_does_not_stall_at_two_to_the_24():
    ledger = Ledger()
    ledger.update(tokens=2**24)
    for _ in range(3):
        ledger.update(tokens=1, targets=torch.tensor(1))
    assert ledger.compute()["tokens"] == 2**24 + 3
    again = Ledger()
    again.restore(ledger.compute())
    assert again.compute() == ledger.compute()
