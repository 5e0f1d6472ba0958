"""Targets of CLM at the borders of documents and blocks."""

from objectives import CLM, IGNORE, Key
from tests.support.objectives import VOCABULARY, build, make_batch


def test_the_next_document_is_not_predicted():
    batch = make_batch(blocks=1)
    (view,) = build(CLM).views(batch.tokens_BT, Key(0, batch.epoch_B, batch.index_B))
    cut = batch.tokens_BT.shape[1] // 3
    assert view.targets_BT[0, cut - 1] == VOCABULARY.sep
    assert view.targets_BT[0, cut] == IGNORE
    assert view.targets_BT[0, -1] == IGNORE
    assert (view.targets_BT != IGNORE).sum() == batch.tokens_BT.shape[1] - 2
