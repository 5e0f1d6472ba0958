"""The contract of every objective; a new one is found and tested without an edit here."""

import math

import pytest
import torch

from objectives import CLM, IGNORE, Batch, Noise, Objective, Past, PastOrNoise, View, load_objective
from objectives.construction.identity import describe_objective, state_hash
from objectives.lightning_module import TrainingModule
from tests.support.objectives import VOCABULARY, all_objectives, build, make_batch, own_scores, rows_of

KEY_SEED = 11


def views_of(objective: Objective, batch: Batch) -> tuple[View, ...]:
    return objective.views(batch.tokens_BT, batch.key(KEY_SEED))


def rows_of_view(view: View, order: torch.Tensor) -> View:
    """The view of some of its blocks."""
    return View(*(field[order] if isinstance(field, torch.Tensor) else field for field in view))


def assert_equal(one: View, other: View) -> None:
    """Every field is equal: attention, weights and channel as well as tokens."""
    for name, first, second in zip(View._fields, one, other, strict=True):
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            assert first.dtype == second.dtype and torch.equal(first, second), name
        else:
            assert type(first) is type(second) and first == second, name


def check_purity(objective: Objective) -> None:
    """Views depend on tokens and key alone: not on a random generator, earlier calls or hidden state."""
    batch = make_batch()
    clean = batch.tokens_BT.clone()
    torch.manual_seed(0)
    first = views_of(objective, batch)
    views_of(objective, make_batch(blocks=3, seed=1))
    torch.manual_seed(1)
    for one, other in zip(first, views_of(objective, batch), strict=True):
        assert_equal(one, other)
    assert torch.equal(batch.tokens_BT, clean)


def check_independence(objective: Objective) -> None:
    """The view of a block does not depend on the other blocks of its batch or on their order."""
    batch = make_batch(blocks=8)
    order = torch.tensor([6, 1, 3])
    part = rows_of(batch, order)
    for whole, some in zip(views_of(objective, batch), views_of(objective, part), strict=True):
        assert_equal(rows_of_view(whole, order), some)


def test_objectives_are_found(cases):
    assert {"CLM", "MLM"} <= {cls.__name__ for cls in all_objectives()}
    assert set(all_objectives(with_defaults=False)) == {cls for cls, _ in cases.values()}, (
        "give it a variant in conftest"
    )


def test_views_are_pure(objective):
    check_purity(objective)


def test_views_do_not_depend_on_batch_or_order(objective):
    check_independence(objective)


DRAWN = {
    "inputs_BT": lambda shape: torch.randint(5, 40, shape),
    "targets_BT": lambda shape: torch.randint(5, 40, shape),
    "attention": lambda shape: torch.rand(shape[0], 1, shape[1], shape[1]) < 0.5,
    "selected_BT": lambda shape: torch.rand(shape) < 0.5,
    "weights_BT": lambda shape: torch.rand(shape),
    "shift": lambda shape: int(torch.randint(0, 1000, ())),
    "channel": lambda shape: Noise(torch.rand(()).item(), 1, 0, 0),
}


class Drawn(CLM):
    """CLM with one field of its view drawn by torch's generator, which may be reseeded in each call."""

    field: str
    reseeded = False

    def views(self, tokens_BT, key):
        (view,) = super().views(tokens_BT, key)
        with torch.random.fork_rng(enabled=self.reseeded):
            if self.reseeded:
                torch.manual_seed(5)
            return (view._replace(**{self.field: DRAWN[self.field](tokens_BT.shape)}),)


@pytest.mark.parametrize("field", View._fields)
def test_a_view_with_a_random_field_fails_this_suite(field):
    objective = build(Drawn)
    objective.field = field
    with pytest.raises(AssertionError, match=field):
        check_purity(objective)


@pytest.mark.parametrize("field", ["inputs_BT", "targets_BT", "attention", "selected_BT", "weights_BT"])
def test_a_view_that_depends_on_its_batch_fails_this_suite(field):
    objective = build(Drawn)
    objective.field, objective.reseeded = field, True
    check_purity(objective)
    with pytest.raises(AssertionError, match=field):
        check_independence(objective)


def test_views_have_the_shape_of_the_tokens_and_valid_ids(objective):
    batch = make_batch()
    blocks, length = batch.tokens_BT.shape
    for view in views_of(objective, batch):
        assert view.inputs_BT.shape == view.targets_BT.shape == batch.tokens_BT.shape
        assert view.inputs_BT.dtype == view.targets_BT.dtype == torch.int64
        targets = view.targets_BT[view.targets_BT != IGNORE]
        assert len(targets) > 0
        assert targets.min() >= 0 and targets.max() < VOCABULARY.size
        assert not torch.isin(targets, torch.tensor([VOCABULARY.pad, VOCABULARY.cls, VOCABULARY.mask])).any()
        if isinstance(view.attention, torch.Tensor):
            assert view.attention.shape == (blocks, 1, length, length) and view.attention.dtype == torch.bool
        else:
            assert view.attention in ("causal", "bidirectional")
        if view.weights_BT is not None:
            assert view.weights_BT.shape == batch.tokens_BT.shape and view.weights_BT.dtype == torch.float32
        if view.selected_BT is not None:
            assert view.selected_BT.shape == batch.tokens_BT.shape and view.selected_BT.dtype == torch.bool


def test_a_target_is_the_true_token_there_or_next(objective):
    batch = make_batch()
    for view in views_of(objective, batch):
        targeted = view.targets_BT != IGNORE
        assert view.shift in (0, 1) and not targeted[:, batch.tokens_BT.shape[1] - view.shift :].any()
        assert torch.equal(view.targets_BT[targeted], batch.tokens_BT.roll(-view.shift, dims=1)[targeted])


def visible(view: View) -> torch.Tensor:
    """Which position (row) of each block sees which (column), documents left aside; (B, T, T)."""
    blocks, length = view.inputs_BT.shape
    everything = torch.ones(blocks, length, length, dtype=torch.bool)
    if isinstance(view.attention, torch.Tensor):
        return view.attention[:, 0]
    return everything if view.attention == "bidirectional" else everything.tril()


def test_special_tokens_are_not_corrupted(objective):
    batch = make_batch()
    special = VOCABULARY.is_special(batch.tokens_BT)
    for view in views_of(objective, batch):
        assert torch.equal(view.inputs_BT[special], batch.tokens_BT[special])
        if view.selected_BT is not None:
            assert not view.selected_BT[special].any()


def test_no_leak(objective):
    """No hidden state that predicts a target depends on it, where it is under [MASK], or where its position does not
    see it."""
    objective.eval()
    batch = make_batch(blocks=1)
    for number, view in enumerate(views_of(objective, batch)):
        for position in (view.targets_BT[0] != IGNORE).nonzero().flatten().tolist():
            source = position + view.shift
            if visible(view)[0, position, source] and view.inputs_BT[0, source] != VOCABULARY.mask:
                continue  # it is shown, or another in its place
            if VOCABULARY.is_special(batch.tokens_BT[0, source]):
                continue  # a changed [SEP] would change the documents themselves
            other_tokens = batch.tokens_BT.clone()
            other_tokens[0, source] = 39 if batch.tokens_BT[0, source] != 39 else 38
            other = views_of(objective, batch._replace(tokens_BT=other_tokens))[number]
            masked = view.inputs_BT == VOCABULARY.mask
            assert torch.equal(view.inputs_BT[masked], other.inputs_BT[masked])
            with torch.no_grad():
                hidden = objective.encode(view, batch.tokens_BT)
                other_hidden = objective.encode(other, other_tokens)
            torch.testing.assert_close(hidden[0, position], other_hidden[0, position], rtol=0, atol=1e-6)


def test_what_a_channel_says_is_true_of_the_view(objective):
    batch = make_batch()
    past = torch.ones(2 * batch.tokens_BT.shape[1:], dtype=torch.bool).tril()
    for view in views_of(objective, batch):
        targeted, sees_all = view.targets_BT != IGNORE, visible(view)
        if isinstance(view.channel, PastOrNoise):
            noisy = sees_all[:, 0, -1]
            assert (sees_all[~noisy] == past).all()
            kinds = {Past(): ~noisy, view.channel.noise: noisy}
        else:
            kinds = {view.channel: torch.ones(len(targeted), dtype=torch.bool)}
        for channel, rows in kinds.items():
            if isinstance(channel, Past):
                assert view.shift == 1 and torch.equal(view.inputs_BT[rows], batch.tokens_BT[rows])
                assert (sees_all[rows] == past)[targeted[rows]].all()
            elif isinstance(channel, Noise):
                assert sees_all[rows].all()
                unselected = targeted[rows].roll(view.shift, dims=1) & ~view.selected_BT[rows]
                assert bool(unselected.any()) == (channel.predicted_besides > 0)


def test_same_seed_same_initial_encoder_for_all(make):
    assert state_hash(make()) == state_hash(build(CLM))
    assert state_hash(make(seed=1)) == state_hash(build(CLM, seed=1)) != state_hash(build(CLM, seed=2))


def test_initial_encoder_does_not_depend_on_earlier_draws():
    torch.manual_seed(123)
    first = state_hash(build(all_objectives()[0]).encoder)
    torch.rand(7)
    assert state_hash(build(all_objectives()[0]).encoder) == first


def test_constructor_arguments_are_kept(objective):
    arguments = describe_objective(objective)["arguments"]
    assert arguments["encoder"]["width"] == 16
    assert arguments["seed"] == 3


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


def test_joined_documents_do_see_each_other(make):
    joined = make(documents="joined").eval()
    batch = make_batch(blocks=1)
    other = batch.tokens_BT.clone()
    other[0, 0] = 39 if other[0, 0] != 39 else 38
    with torch.no_grad():
        difference = (joined.read(batch.tokens_BT) - joined.read(other)).abs().amax(-1)[0]
    assert difference[-1] > 0


def test_padding_is_not_seen(make):
    for documents in ("separate", "joined"):
        model = make(documents=documents).eval()
        tokens = torch.tensor([[2, 5, 6, 7, 3]])
        padded = torch.nn.functional.pad(tokens, (0, 4), value=VOCABULARY.pad)
        with torch.no_grad():
            torch.testing.assert_close(model.read(tokens), model.read(padded)[:, :5])


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
    module = TrainingModule(objective)
    checkpoint = {"state_dict": module.state_dict()}
    module.on_save_checkpoint(checkpoint)
    assert checkpoint["state_dict"].keys() == objective.state_dict().keys()
    torch.save(checkpoint, tmp_path / "a.ckpt")
    loaded = load_objective(tmp_path / "a.ckpt")
    assert describe_objective(loaded) == describe_objective(objective)
    assert state_hash(loaded) == state_hash(objective)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", None])
def test_a_file_that_is_not_a_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "a.ckpt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="checkpoint"):
        load_objective(path)
