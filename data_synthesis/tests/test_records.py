"""Reading and writing records: both formats agree, and a pickle can't run code."""
from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_synthesis.plain_pickle import dump_plain, load_plain
from data_synthesis.records import read_records, write_records
from environment.core.errors import DataError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
ROWS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4)


class Bomb:
    """Runs a command when unpickled by a naive reader."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.marker}",))


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_both_formats_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    for name in ("rows.jsonl", "rows.pkl"):
        assert write_records(folder / name, rows) == len(rows)
        assert list(read_records(folder / name)) == rows
    assert sorted(p.name for p in folder.iterdir()) == ["rows.jsonl", "rows.pkl"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_reads_any_protocol(tmp_path: Path, protocol: int) -> None:
    rows = [{"query": "Oslo", "steps": [{"arguments": {"x": 1.5, "y": None}}] * 2}]
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(rows, protocol=protocol))
    assert load_plain(tmp_path / "a.pkl") == rows


def test_pickle_that_would_run_code_is_refused_by_name_and_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "bad.pkl").write_bytes(pickle.dumps([{"query": Bomb(marker)}]))
    with pytest.raises(DataError, match=r"bad\.pkl") as caught:
        list(read_records(tmp_path / "bad.pkl"))
    assert "system" in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("value", [date(2026, 1, 1), OrderedDict(a=1), Path("x"), complex(1, 2), DataError])
def test_anything_but_plain_containers_is_refused(tmp_path: Path, value: object) -> None:
    (tmp_path / "odd.pkl").write_bytes(pickle.dumps([{"value": value}]))
    with pytest.raises(DataError, match="Python object"):
        load_plain(tmp_path / "odd.pkl")


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, {3: "number as key"}])
def test_plain_but_not_json_is_refused(tmp_path: Path, value: object) -> None:
    (tmp_path / "odd.pkl").write_bytes(pickle.dumps([{"value": value}]))
    with pytest.raises(DataError):
        load_plain(tmp_path / "odd.pkl")


@given(st.binary(max_size=80))
@settings(max_examples=50, deadline=None)
def test_random_bytes_raise_nothing_but_data_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.pkl"
    path.write_bytes(data)
    try:
        load_plain(path)
    except DataError as error:
        assert "x.pkl" in str(error)


@given(st.integers(1, 400))
@settings(max_examples=20, deadline=None)
def test_half_a_pickle_is_refused(tmp_path_factory: pytest.TempPathFactory, size: int) -> None:
    whole = dump_plain([{"query": "Oslo", "steps": [1, 2, 3], "text": "x" * 300}])
    path = tmp_path_factory.mktemp("half") / "x.pkl"
    path.write_bytes(whole[: min(size, len(whole) - 1)])
    with pytest.raises(DataError):
        load_plain(path)


def test_equal_rows_give_equal_bytes_however_they_share_strings() -> None:
    name = "".join(["Os", "lo"])
    assert dump_plain([{"a": name, "b": name}]) == dump_plain([{"a": "Oslo", "b": "".join(["O", "slo"])}])


def test_bad_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n\n{"a": \n')
    with pytest.raises(DataError, match="line 3"):
        list(read_records(tmp_path / "rows.jsonl"))
    (tmp_path / "rows.jsonl").write_text("[1]\n")
    with pytest.raises(DataError, match="line 1"):
        list(read_records(tmp_path / "rows.jsonl"))


def test_missing_file_and_unknown_kind_are_told(tmp_path: Path) -> None:
    for name in ("none.jsonl", "none.pkl"):
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            list(read_records(tmp_path / name))
    with pytest.raises(DataError, match="jsonl or"):
        write_records(tmp_path / "rows.csv", [])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_records(path, [{"a": 1}])
    with pytest.raises(TypeError):
        write_records(path, [{"a": 2}, {"a": object()}])
    assert list(read_records(path)) == [{"a": 1}]
    assert [p.name for p in tmp_path.iterdir()] == ["rows.jsonl"]
