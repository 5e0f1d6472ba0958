from analysis.records.quantities import EXCESS_LOSS, is_own_question, is_shared_metric, label, lower_is_better, title


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
    assert (label(EXCESS_LOSS), title(EXCESS_LOSS)) == (
        "excess loss (nats per target)",
        "excess loss",
    )
    assert label("cloze/0.15/excess_loss") == "validation excess loss at 15 % masked (nats per target)"
