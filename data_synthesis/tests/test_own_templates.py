"""Templates of a user's own: one file is enough, and what is wrong with it is told where it stands."""
from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from data_synthesis.templates.load import every_problem, load_set
from data_synthesis.templates.model import COUNTED, FromStep, Pattern, Rule
from data_synthesis.templates.picture import svg
from data_synthesis.trial import try_patterns
from environment.booking.schemas import load_schemas
from environment.core.errors import DataError

SCHEMAS = load_schemas()
OWN = """
patterns:
  - id: reviews_of_a_bargain
    domain: hotel
    picks: {bargain: [cheapest]}
    steps:
      - {name: place, tool: Search_Hotel_Destination, give: {query: $city}}
      - name: stays
        tool: Search_Hotels
        give: {dest_id: "place.data[0].dest_id", search_type: "place.data[0].search_type",
               arrival_date: $check_in, departure_date: $check_out}
      - {name: reviews, tool: Get_Hotel_Review_Scores, give: {hotel_id: "stays.data.hotels[@bargain].hotel_id"}}
      - {name: pets, tool: Get_Hotel_Policies, give: {hotel_id: "stays.data.hotels[@bargain].hotel_id"}}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text)
    return path


def test_one_file_makes_a_template(tmp_path: Path) -> None:
    path = written(tmp_path, OWN)
    (pattern,) = load_set(SCHEMAS, str(path))
    assert [[step.name for step in level] for level in pattern.levels] == [["place"], ["stays"], ["reviews", "pets"]]
    assert pattern.width == 2 and pattern.after == {"check_out": "check_in"}
    assert pattern.step("stays").ranks[Rule.CHEAPEST] == "price"
    (trial,) = try_patterns([pattern], tries=6)
    assert trial.accepted == 6 and not trial.why
    assert "cheapest" in trial.example or "lowest price" in trial.example or "least expensive" in trial.example


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tool: Get_Hotel_Policies", "tool: Get_Hotel_Policy", ["step pets", "'Get_Hotel_Policies'"]),
        ("arrival_date: $check_in", "arival_date: $check_in", ["step stays", "'arrival_date'", "no argument"]),
        ("hotels[@bargain].hotel_id", "hotels[@bargain].name", ["port 'hotel_id'", "hotels[].hotel_id"]),
        ("stays.data.hotels[@bargain]", "stay.data.hotels[@bargain]", ["step 'stay'", "nearest   'stays'"]),
        ("picks: {bargain", "picks: {bargin", ["'bargain'", "nearest   'bargin'", "nothing is picked"]),
        ("picks: {bargain: [cheapest]}", "picks: {bargain: named}", ["does not fit the rules"]),
        ("$check_out", "$chek_out", ["'chek_out'", "nearest   'check_out'"]),
        ("name: pets", "name: reviews", ["stands twice"]),
        ("domain: hotel", "domain: hotel\n    together: [[city, hotel]]", ["no step takes the variable 'hotel'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_step_and_the_nearest_name(
    tmp_path: Path, old: str, new: str, told: list[str]
) -> None:
    assert old in OWN
    sound, wrong = every_problem(SCHEMAS, written(tmp_path, OWN.replace(old, new)))
    text = "\n".join(map(str, wrong))
    assert not sound and all(words in text for words in told), text
    assert "pattern reviews_of_a_bargain" in text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("domain:", "domian:", "nearest   'domain'"),
        ("[cheapest]", "[cheapst]", "nearest   'cheapest'"),
        ("patterns:", "patterns: 3 #", "patterns"),
        ("id: reviews_of_a_bargain", "id: two words", "reviews|two words"),
        ("give: {query: $city}", "give: [query]", "pattern reviews_of_a_bargain"),
    ],
)
def test_a_file_of_another_shape_is_told_by_field(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        every_problem(SCHEMAS, written(tmp_path, OWN.replace(old, new)))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such set"):
        load_set(SCHEMAS, "defualt")
    (tmp_path / "own.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="can't be read"):
        load_set(SCHEMAS, str(tmp_path / "own.yaml"))
    with pytest.raises(DataError, match="expected  a table"):
        load_set(SCHEMAS, str(written(tmp_path, "- 1")))
    with pytest.raises(DataError, match="no workflow template"):
        load_set(SCHEMAS, str(written(tmp_path, "kinds: {}")))


def test_a_pattern_nobody_can_fill_says_why(tmp_path: Path) -> None:
    apart = OWN.replace("$check_in", "$check_out")  # nobody leaves on the day he arrives
    (pattern,) = load_set(SCHEMAS, str(written(tmp_path, apart)))
    (trial,) = try_patterns([pattern], tries=2)
    assert trial.accepted == 0 and trial.rejected == {"no_chain": 2}
    assert "step" in trial.why and "Search_Hotels" in trial.why


@pytest.mark.parametrize("name", ["reviews_of_a_bargain", "trips-hotels-rooms-taxi"])
def test_the_picture_shows_every_step_and_edge_and_needs_nothing_else(
    tmp_path: Path, long_patterns: tuple[Pattern, ...], name: str
) -> None:
    own = load_set(SCHEMAS, str(written(tmp_path, OWN)))
    pattern = next(p for p in [*own, *long_patterns] if p.id == name)
    root = ElementTree.fromstring(svg(pattern))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in root.iter(f"{space}text")]
    assert all(step.name in texts and step.tool in texts for step in pattern.steps)
    curves = [e for e in root.iter(f"{space}path") if e.get("marker-end")]
    pairs = {(s.name, p) for s in pattern.steps for p in s.producers}
    assert len(curves) == len(pairs) > 0
    boxes = [e for e in root.iter(f"{space}rect") if e.get("rx")]
    columns: dict[str, list[tuple[int, int]]] = {}
    for box in boxes:
        top = int(box.get("y", ""))
        columns.setdefault(box.get("x", ""), []).append((top, top + int(box.get("height", ""))))
    assert len(columns) == len(pattern.levels)
    for spans in columns.values():
        assert all(first[1] < second[0] for first, second in zip(sorted(spans), sorted(spans)[1:], strict=False))
    assert "http" not in svg(pattern).replace("http://www.w3.org/2000/svg", "")


def test_a_source_tells_its_list_its_pick_and_its_name() -> None:
    fields = ("data.hotels[@p].id", "data[name=@w].id", "data[0].id")
    ruled, named, fixed = (FromStep("s", field) for field in fields)
    assert (ruled.pick, ruled.key, ruled.list_path, ruled.at(2)) == ("p", None, "data.hotels", "data.hotels[2].id")
    assert (named.pick, named.key, named.list_path, named.at(1)) == ("w", "name", "data", "data[1].id")
    assert (fixed.pick, fixed.key, fixed.list_path) == (None, None, "data[0].id")
    assert list(COUNTED) == [Rule.FIRST, Rule.SECOND, Rule.THIRD, Rule.FOURTH, Rule.FIFTH]
