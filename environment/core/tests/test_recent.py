"""A bounded memory keeps what is asked for, never more than it may; what is derived from an object is derived once."""
from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from environment.core.per_object import MOST, PerObject
from environment.core.recent import Recent


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 40))), st.integers(0, 100))
def test_what_is_kept_is_what_was_put_and_never_weighs_more_than_it_may(
    puts: list[tuple[int, int]], capacity: int
) -> None:
    memory = Recent[int, tuple[int, int]](capacity)
    last: dict[int, tuple[int, int]] = {}
    for number, (key, weight) in enumerate(puts):
        found = memory.get(key)
        assert found is None or found == last[key]
        memory.put(key, (number, weight), weight)
        if weight <= capacity // 4:
            last[key] = (number, weight)
            assert memory.get(key) == last[key], "what was just put is there"
    kept = [memory.get(key) for key in range(21)]
    assert sum(each[1] for each in kept if each) <= max(capacity, 0) * 2


def test_what_is_asked_for_stays_and_the_rest_goes() -> None:
    memory = Recent[str, int](400)
    memory.put("asked", 1, 10)
    for number in range(1000):
        memory.put(f"other {number}", number, 10)
        if number % 10 == 0:
            assert memory.get("asked") == 1
    assert memory.get("other 0") is None and memory.get("other 999") == 999
    assert len(memory) <= 41
    memory.clear()
    assert len(memory) == 0 and memory.get("asked") is None


def test_what_is_too_heavy_drives_nothing_out() -> None:
    memory = Recent[str, int](100)
    memory.put("light", 1, 5)
    memory.put("heavy", 2, 26)
    assert memory.get("heavy") is None and memory.get("light") == 1


def test_threads_may_share_a_memory() -> None:
    memory = Recent[int, int](2000)
    wrong: list[Any] = []

    def work(start: int) -> None:
        for number in range(start, start + 20_000):
            found = memory.get(number % 300)
            if found not in (None, number % 300):
                wrong.append((number, found))
            memory.put(number % 300, number % 300, 10)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(memory) <= 200


def test_an_object_is_looked_at_once_and_its_equals_are_others() -> None:
    seen: list[dict[str, int]] = []

    def size(source: dict[str, int]) -> int:
        seen.append(source)
        return len(source)

    sizes = PerObject[dict[str, int], int](size)
    one, other = {"a": 1}, {"a": 1}
    assert [sizes(one), sizes(one), sizes(other)] == [1, 1, 1]
    assert len(seen) == 2
    for number in range(MOST + 10):
        assert sizes({"a": number, "b": 1}) == 2, "an identity that comes again is another object's"
