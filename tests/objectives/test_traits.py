"""What an objective says of itself is refused where records and reports could not hold it."""

import math

import pytest
import torch

from objectives import Traits


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ({"attention": "prefix"}, "causal or bidirectional, but is 'prefix'"),
        ({"numeric": {"rate": math.nan}}, "factor rate of Mine must be a finite number"),
        ({"numeric": {"rate": "0.5"}}, "factor rate of Mine must be a finite number"),
        ({"numeric": {"rate": torch.tensor(0.5)}}, "factor rate of Mine must be a finite number"),
        ({"categorical": {"kind": ""}}, "factor kind of Mine must be in words"),
        ({"categorical": {"kind": 3}}, "factor kind of Mine must be in words"),
        ({"numeric": {"kind": 3}, "categorical": {"kind": "three"}}, "kind is both"),
    ],
)
def test_what_cannot_be_recorded_is_refused(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        Traits(**{"name": "Mine", "question": "mine", "attention": "causal", **wrong})
