from __future__ import annotations

import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from environment.booking.draw import Ids, Scatter, Tokens, between, draw, pick
from environment.booking.places import all_places, kilometres

few = settings(max_examples=50, deadline=None)


@few
@given(st.integers(0, 99), st.integers(2, 5000), st.data())
def test_a_scatter_is_one_to_one(seed: int, span: int, data: st.DataObject) -> None:
    scatter = Scatter(seed, "t", span)
    index = data.draw(st.integers(0, span - 1))
    assert scatter.index(scatter.code(index)) == index
    if span <= 200:
        assert sorted(map(scatter.code, range(span))) == list(range(span))


@few
@given(st.integers(0, 99), st.integers(1, 10**12), st.data())
def test_tokens_are_read_back_and_foreign_ones_refused(seed: int, count: int, data: st.DataObject) -> None:
    tokens = Tokens(seed, "t", count, "x")
    index = data.draw(st.integers(0, count - 1))
    token = tokens.text(index)
    assert tokens.index(token) == index
    for other in (token[1:], token + "0", "y" + token[1:], token.upper(), token[:-1] + "é", ""):
        assert tokens.index(other) is None
    foreign = tokens.index("x" + data.draw(st.text("0123456789bcdf", max_size=12)))
    assert foreign is None or 0 <= foreign < count


def test_ids_are_unique_and_within_bounds() -> None:
    ids = Ids(1, "hotel", 500, 10000, 99999)
    texts = [ids.text(i) for i in range(500)]
    assert len(set(texts)) == 500
    assert all(len(t) == 5 for t in texts)
    assert [ids.index(t) for t in texts] == list(range(500))
    assert ids.index("1") is None
    assert texts != sorted(texts)


def test_draws_depend_on_words_alone_in_every_process() -> None:
    code = "from environment.booking.draw import draw; import sys; sys.stdout.write(str(draw(1, 'a', 2)))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == draw(1, "a", 2) != draw(1, "a2")


@few
@given(st.integers(), st.integers(-5, 5), st.integers(0, 9))
def test_between_and_pick_stay_inside(seed: int, low: int, width: int) -> None:
    assert low <= between(low, low + width, seed) <= low + width
    assert pick("abc", seed) in "abc"


def test_places_are_distinct_and_their_airports_near() -> None:
    places = all_places()
    assert len({p.city for p in places}) == len({p.iata for p in places}) == len(places) >= 60
    assert all(kilometres(p.centre, p.airport_point) < 60 for p in places)


def test_distances() -> None:
    assert kilometres((0, 0), (0, 0)) == 0
    assert round(kilometres((0, 0), (0, 180))) == 20015  # half the circumference of a sphere of radius 6371
    assert 340 < kilometres((51.51, -0.13), (48.86, 2.35)) < 350  # London and Paris
