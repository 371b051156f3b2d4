"""Which addresses are this machine, and how long a service wants to be left alone."""
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from environment.core.net import is_loopback, seconds_asked


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", "::2", "0.0.0.0"])
def test_other_machines_are_not_taken_for_it(host: str) -> None:
    assert not is_loopback(host)


def test_a_wait_is_a_number_or_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < (seconds_asked(soon) or 0) <= 30
    assert seconds_asked("12") == 12 and seconds_asked(None) is None
    assert [seconds_asked(t) for t in ("soon", "", "-3", "\u0663", "1e9", "nan", "inf", "Mon, 99 Foo")] == [None] * 8
    assert seconds_asked("Mon, 01 Jan 2001 00:00:00 GMT") == 0
