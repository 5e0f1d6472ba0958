"""What a snapshot is measured by, all together."""

from dataclasses import replace

import pytest
import torch

from experiments.corpora import LocalText
from experiments.data import TextData
from experiments.evaluation.evaluation import Evaluation, EvaluationConfig
from experiments.text.tokenizer import TokenizerConfig
from objectives import CLM, MLM, Corruption
from tests.support.known_rules import make_data
from tests.support.objectives import build
from tests.support.tiny import write_text


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    corpus = LocalText(str(write_text(folder / "text.txt")), validation=0.2)
    data = TextData(corpus, TokenizerConfig("bpe", 300), 16, 4, validation_blocks=8, root=str(folder / "packed"))
    data.prepare_data()
    return data


def objective_for(data, cls, **changes):
    return build(cls, vocabulary=data.vocabulary, **changes)


def test_every_run_has_the_same_targets_and_nothing_is_drawn(data):
    evaluate = Evaluation(data, EvaluationConfig(mask_rates=(0.15, 0.3), word_swap_pairs=5))
    model = objective_for(data, MLM)
    state = torch.get_rng_state()
    first = evaluate(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert evaluate(model) == first
    assert first["validation/loss"] == pytest.approx(first["cloze/0.15/loss"], rel=1e-6)
    model.shared = replace(model.shared, seed=99)  # another run's seed does not change the targets
    assert evaluate(model) == first
    assert {"cloze/0.15/loss", "cloze/0.3/loss", "word_swap/accuracy"} <= first.keys()


def test_common_rates_do_not_depend_on_the_runs_own_corruption(data):
    evaluate = Evaluation(data, EvaluationConfig(word_swap_pairs=0))
    own = {rate: evaluate(objective_for(data, MLM, corruption=Corruption(rate, 1, 0, 0))) for rate in (0.2, 0.6)}
    assert own[0.2]["cloze/0.3/loss"] == own[0.6]["cloze/0.3/loss"]
    assert own[0.2]["validation/loss"] != own[0.6]["validation/loss"]
    assert own[0.2]["validation/density"] < own[0.6]["validation/density"]


def test_causal_runs_fill_no_masks(data):
    values = Evaluation(data, EvaluationConfig(word_swap_pairs=0))(objective_for(data, CLM))
    assert values.keys() == {f"validation/{name}" for name in ("loss", "accuracy", "bits_per_character", "density")}
    assert values["validation/density"] > 0.8


def test_untrained_models_are_above_the_bayes_loss_and_below_the_bayes_accuracies():
    data = make_data()
    evaluate = Evaluation(data, EvaluationConfig(word_swap_pairs=3, mask_rates=(0.15,)))
    for cls in (CLM, MLM):
        values = evaluate(build(cls, vocabulary=data.vocabulary))
        assert values["validation/excess_loss"] > 5 * values["validation/excess_loss_standard_error"] > 0
        assert values["validation/loss"] == pytest.approx(
            values["validation/bayes_loss"] + values["validation/excess_loss"]
        )
        token, past, both = (values[f"probe/states/bayes_accuracy_{view}"] for view in ("token", "past", "both"))
        assert values["probe/states/majority_accuracy"] < token < past < both < 1
        assert 0 <= values["word_swap/accuracy"] <= 1
        assert ("cloze/0.15/excess_loss" in values) == (cls is MLM)


@pytest.mark.parametrize("change", [{"mask_rates": (1.5,)}, {"snapshots": 0}, {"word_swap_pairs": -1}])
def test_bad_evaluations_are_refused(change):
    with pytest.raises(ValueError):
        EvaluationConfig(**change)
