from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.tables.density import density_table
from tests.support.grids import CLM, MLM, on_text


def test_density_nominal_and_realised(builder):
    builder.run(on_text(CLM, 9_000), 0)
    builder.run(on_text(MLM, 9_000), 0, tokens=20_000, state="interrupted")
    builder.pending(replace(MLM, arm="later"), 0)
    clm, mlm, later = density_table(read_results(builder.finish())).rows
    assert clm[2] == 0.99 and clm[3].mean == pytest.approx(0.99)
    assert clm[4].mean == pytest.approx(1e9 * 0.99 / (3e6 + 2e6 * 0.99))
    assert mlm[5:] == (20_000, 3_000)
    assert str(later[3]) == "missing (nothing recorded)"
