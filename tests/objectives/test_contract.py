"""What every objective must keep to; a new one is found and tested without an edit here."""

import math

import pytest
import torch

from objectives import IGNORE, Batch, Key, Objective, load_objective
from objectives.identity import arguments, state_hash
from tests.support.objectives import VOCABULARY, all_objectives, build, make_batch, own_scores

KEY_SEED = 11


def views_of(objective: Objective, batch: Batch):
    return objective.views(batch.tokens_BT, Key(KEY_SEED, batch.epoch_B, batch.index_B))


def test_objectives_are_found():
    assert {"CLM", "MLM"} <= {cls.__name__ for cls in all_objectives()}


def test_views_are_pure(objective):
    batch = make_batch()
    before = batch.tokens_BT.clone()
    torch.manual_seed(0)
    first = views_of(objective, batch)
    torch.manual_seed(1)
    second = views_of(objective, batch)
    assert torch.equal(batch.tokens_BT, before)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.inputs_BT, other.inputs_BT)
        assert torch.equal(one.targets_BT, other.targets_BT)


def test_views_have_the_shape_of_the_tokens_and_valid_ids(objective):
    batch = make_batch()
    for view in views_of(objective, batch):
        assert view.inputs_BT.shape == view.targets_BT.shape == batch.tokens_BT.shape
        assert view.inputs_BT.dtype == view.targets_BT.dtype == torch.int64
        asked = view.targets_BT[view.targets_BT != IGNORE]
        assert len(asked) > 0
        assert asked.min() >= 0 and asked.max() < VOCABULARY.size
        assert not torch.isin(asked, torch.tensor([VOCABULARY.pad, VOCABULARY.cls, VOCABULARY.mask])).any()


def test_a_target_is_the_true_token_there_or_next(objective):
    batch = make_batch()
    following = torch.roll(batch.tokens_BT, -1, dims=1)
    for view in views_of(objective, batch):
        asked = view.targets_BT != IGNORE
        true = batch.tokens_BT if view.selected_BT is not None else following
        assert torch.equal(view.targets_BT[asked], true[asked])


def test_special_tokens_are_shown_as_they_are(objective):
    batch = make_batch()
    special = VOCABULARY.is_special(batch.tokens_BT)
    for view in views_of(objective, batch):
        assert torch.equal(view.inputs_BT[special], batch.tokens_BT[special])
        if view.selected_BT is not None:
            assert not view.selected_BT[special].any()


def test_views_do_not_depend_on_batch_or_order(objective):
    batch = make_batch(blocks=8)
    order = torch.tensor([6, 1, 3])
    part = Batch(*(field[order] for field in batch))
    for whole, some in zip(views_of(objective, batch), views_of(objective, part), strict=True):
        assert torch.equal(whole.inputs_BT[order], some.inputs_BT)
        assert torch.equal(whole.targets_BT[order], some.targets_BT)


def test_no_peeking(objective):
    """An asked token's clean value shows nowhere that answers it: not under [MASK], not left of a causal target."""
    objective.eval()
    batch = make_batch(blocks=1)
    for number, view in enumerate(views_of(objective, batch)):
        for position in range(batch.tokens_BT.shape[1]):
            source = position if view.selected_BT is not None else position + 1
            hidden = view.selected_BT is None or view.inputs_BT[0, position] == VOCABULARY.mask
            if view.targets_BT[0, position] == IGNORE or not hidden:
                continue
            other_tokens = batch.tokens_BT.clone()
            other_tokens[0, source] = 39 if batch.tokens_BT[0, source] != 39 else 38
            if VOCABULARY.is_special(batch.tokens_BT[0, source]):
                continue  # a changed [SEP] would change the documents themselves
            other = views_of(objective, batch._replace(tokens_BT=other_tokens))[number]
            masked = view.inputs_BT == VOCABULARY.mask
            assert torch.equal(view.inputs_BT[masked], other.inputs_BT[masked])
            with torch.no_grad():
                before = objective.encode(view, batch.tokens_BT)
                after = objective.encode(other, other_tokens)
            answers = slice(0, position + 1) if view.selected_BT is None else slice(position, position + 1)
            torch.testing.assert_close(before[0, answers], after[0, answers], rtol=0, atol=1e-6)


def test_same_seed_same_initial_encoder_for_all():
    assert len({state_hash(build(cls).encoder) for cls in all_objectives()}) == 1
    assert len({build(cls, seed=seed).initial_hash for cls in all_objectives() for seed in (1, 2)}) == 2


def test_initial_encoder_does_not_depend_on_what_was_drawn_before():
    torch.manual_seed(123)
    first = build(all_objectives()[0]).initial_hash
    torch.rand(7)
    assert build(all_objectives()[0]).initial_hash == first


def test_constructor_arguments_are_kept(objective):
    assert arguments(objective)["encoder"]["width"] == 16
    assert arguments(objective)["seed"] == 3


def test_documents_do_not_see_each_other(objective):
    objective.eval()
    batch = make_batch(blocks=1)
    other = batch.tokens_BT.clone()
    other[0, 0] = 39 if other[0, 0] != 39 else 38
    cut = batch.tokens_BT.shape[1] // 3 + 1
    with torch.no_grad():
        difference = (objective.read(batch.tokens_BT) - objective.read(other)).abs().amax(-1)[0]
    assert difference[:cut].max() > 1e-4
    assert difference[cut:].max() == 0


def test_joined_documents_do_see_each_other(objective):
    joined = build(type(objective), documents="joined").eval()
    batch = make_batch(blocks=1)
    other = batch.tokens_BT.clone()
    other[0, 0] = 39 if other[0, 0] != 39 else 38
    with torch.no_grad():
        difference = (joined.read(batch.tokens_BT) - joined.read(other)).abs().amax(-1)[0]
    assert difference[-1] > 0


def test_padding_is_not_seen(objective):
    for documents in ("separate", "joined"):
        language_model = build(type(objective), documents=documents).eval()
        tokens = torch.tensor([[2, 5, 6, 7, 3]])
        padded = torch.nn.functional.pad(tokens, (0, 4), value=VOCABULARY.pad)
        with torch.no_grad():
            torch.testing.assert_close(language_model.read(tokens), language_model.read(padded)[:, :5])


def test_scores_are_one_per_token_and_do_not_depend_on_neighbours(objective):
    sentences = [[5, 6, 7], [], [8], [9, 10, 11, 12, 13], [5, 6, 7]]
    together = own_scores(objective, sentences)
    assert [len(score) for score in together] == [3, 0, 1, 5, 3]
    for sentence, score in zip(sentences, together, strict=True):
        assert score == pytest.approx(own_scores(objective, [sentence])[0], abs=1e-5)
        assert all(value < 0 and math.isfinite(value) for value in score)


def test_scoring_restores_train_mode(objective):
    objective.train()
    own_scores(objective, [[5, 6]])
    assert objective.training and objective.encoder.training


def test_too_long_sentence_is_refused(objective):
    with pytest.raises(ValueError, match="room for 62"):
        own_scores(objective, [[5] * 63])


def test_a_saved_objective_loads_as_it_was(objective, tmp_path):
    checkpoint = {"state_dict": objective.state_dict()}
    objective.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "a.ckpt")
    loaded = load_objective(tmp_path / "a.ckpt")
    assert type(loaded) is type(objective)
    assert arguments(loaded) == arguments(objective)
    assert state_hash(loaded) == state_hash(objective)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", None])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "a.ckpt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="checkpoint"):
        load_objective(path)
