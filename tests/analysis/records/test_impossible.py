from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.report import main
from tests.support.grids import CLM, MLM, falling, on_known_rules, rising


@pytest.mark.parametrize("quantity", ["validation/excess_loss", "cloze/0.3/excess_loss"])
def test_a_loss_below_the_bayes_loss_is_refused(builder, capsys, quantity):
    plan = on_known_rules(MLM, falling(20), 3.4, rising(0.5, 0.78, 2_000), standard_error=0.02)
    impossible = {quantity: lambda t, s: -0.061 if t == 50_000 else 0.3}
    builder.run(plan, 0)
    builder.run(replace(plan, quantities={**plan.quantities, **impossible}), 1)
    assert main([str(builder.finish())]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{quantity} of known rules; mlm-s1 at step 50 is -0.061 nats" in said
    assert "score or the limit was computed wrongly" in said and not (builder.directory / "report").exists()


def test_within_three_standard_errors_it_is_noise_but_only_if_the_error_is_known(builder):
    plan = on_known_rules(CLM, lambda t, s: -0.059, 3.4, rising(0.5, 0.78, 2_000), standard_error=0.02)
    builder.run(plan, 0)
    read_results(builder.finish())
    unknown = {q: course for q, course in plan.quantities.items() if q != "validation/excess_loss_standard_error"}
    builder.run(replace(plan, quantities=unknown), 1)
    with pytest.raises(ValueError, match="standard error was not recorded"):
        read_results(builder.finish())
