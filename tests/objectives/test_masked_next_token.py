"""Masked tokens at the position before: the view of MLM, moved; and what has no position before it."""

import pytest
import torch

from objectives import IGNORE, MLM, Corruption, Key, MaskedNextToken, Scheduled
from tests.support.objectives import VOCABULARY, attached, build, make_batch

CORRUPTION = Corruption(0.4, 0.6, 0.2, 0.2)


def view_of(cls, batch, corruption=CORRUPTION):
    (view,) = build(cls, corruption=corruption).views(batch.tokens_BT, Key(3, batch.epoch_B, batch.index_B))
    return view


def test_the_position_before_predicts_what_mlm_predicts_in_place():
    batch = make_batch(blocks=40)
    ours, theirs = view_of(MaskedNextToken, batch), view_of(MLM, batch)
    assert torch.equal(ours.inputs_BT, theirs.inputs_BT) and torch.equal(ours.selected_BT, theirs.selected_BT)
    assert ours.channel == theirs.channel and ours.shift == 1
    length = batch.tokens_BT.shape[1]
    for i in range(length):
        before = ours.targets_BT[:, i - 1] if i else None
        if before is not None:
            assert torch.equal(before, theirs.targets_BT[:, i])
    assert (ours.targets_BT[:, -1] == IGNORE).all()


def test_the_first_token_of_a_block_is_corrupted_but_no_target_and_the_ledger_says_so():
    batch = make_batch(blocks=40)
    module = attached(build(MaskedNextToken, corruption=CORRUPTION))
    module.training_step(batch, 0)
    totals = module.ledger.compute()
    (view,) = module.objective.views(batch.tokens_BT, module.key(batch))
    first = int(view.selected_BT[:, 0].sum())
    assert first > 5
    assert totals["selected"] == int(view.selected_BT.sum()) == totals["targets"] + first
    assert totals["targets"] == int((view.targets_BT != IGNORE).sum())


def test_a_target_is_predicted_within_its_document():
    batch = make_batch(blocks=200)
    view = view_of(MaskedNextToken, batch, Corruption(1.0))
    documents = build(MaskedNextToken).document_numbers(batch.tokens_BT)
    row, place = (view.targets_BT != IGNORE).nonzero().unbind(1)
    assert torch.equal(documents[row, place], documents[row, place + 1])
    # [CLS] predicts the first token of its document.
    (cls_row, cls_place) = (batch.tokens_BT == VOCABULARY.cls).nonzero()[0].tolist()
    assert view.targets_BT[cls_row, cls_place] == batch.tokens_BT[cls_row, cls_place + 1]


@pytest.mark.parametrize("rate", [0.15, Scheduled(0.3, 0.15)])
def test_what_it_says_of_its_corruption_is_what_mlm_says(rate):
    ours, theirs = (build(cls, corruption=Corruption(rate)) for cls in (MaskedNextToken, MLM))
    assert ours.densities(0.5) == theirs.densities(0.5)
    assert ours.traits.numeric == theirs.traits.numeric and ours.traits.categorical == theirs.traits.categorical
    assert ours.traits.question != theirs.traits.question and ours.traits.huggingface is None
