import pytest

from analysis.records.quantities import (
    EXCESS_LOSS,
    cloze_quantities,
    is_own_question,
    is_shared_metric,
    label,
    lower_is_better,
    shared_metrics,
    title,
)


def test_excess_loss_is_a_shared_metric_and_its_companions_are_not():
    assert is_shared_metric(EXCESS_LOSS) and lower_is_better(EXCESS_LOSS) and not is_own_question(EXCESS_LOSS)
    others = (
        "validation/excess_loss_standard_error",
        "validation/bayes_loss",
        "cloze/0.15/excess_loss",
        "probe/states/bayes_accuracy_past",
    )
    assert not any(map(is_shared_metric, others))
    assert lower_is_better("cloze/0.15/excess_loss")
    assert title(EXCESS_LOSS) == "excess loss"


RECORDED = {
    "train/loss": "training loss (nats per target)",
    "validation/loss": "validation loss (nats per target)",
    "validation/accuracy": "validation accuracy",
    "validation/bits_per_character": "validation bits per character",
    "validation/bayes_loss": "Bayes loss (nats per target)",
    "validation/excess_loss": "excess loss (nats per target)",
    "cloze/0.15/loss": "validation loss at 15 % masked (nats per target)",
    "cloze/0.15/excess_loss": "validation excess loss at 15 % masked (nats per target)",
    "probe/books/accuracy": "books probe, accuracy",
    "probe/books/macro_f1": "books probe, macro F1",
    "probe/books/majority_accuracy": "books probe, majority-class accuracy",
    "word_swap/accuracy": "word-swap accuracy",
    "my/loss": "my/loss",
}


@pytest.mark.parametrize("quantity", RECORDED)
def test_label(quantity):
    assert label(quantity) == RECORDED[quantity]


def test_own_questions_and_common_ones():
    own = ["train/loss", "validation/loss", "validation/accuracy", "validation/bits_per_character"]
    assert [q for q in RECORDED if is_own_question(q)] == own
    assert shared_metrics(RECORDED) == [
        "validation/excess_loss",
        "probe/books/accuracy",
        "probe/books/macro_f1",
        "word_swap/accuracy",
    ]
    rates = ["cloze/0.5/loss", "cloze/0.15/loss", "cloze/0.15/excess_loss", "validation/loss"]
    assert cloze_quantities(rates) == ["cloze/0.15/loss", "cloze/0.5/loss"]
    assert cloze_quantities(rates, "excess_loss") == ["cloze/0.15/excess_loss"]
