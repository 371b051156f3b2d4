"""Dynamic sampling has an end."""
from __future__ import annotations

import pytest

from environment.core.errors import StageError
from training.verl_plugin.refills import Refills


def test_the_bound_holds_within_a_step_and_starts_anew_with_the_next():
    refills = Refills(4)
    refills.take(3, step=1)
    refills.take(1, step=1)
    refills.take(4, step=2)
    with pytest.raises(StageError, match=r"step 2.*outcome") as raised:
        refills.take(1, step=2)
    assert "5 prompts" in str(raised.value) and "max_refills" in str(raised.value)
