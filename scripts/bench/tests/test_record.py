"""A bench's file says the same when it is read back, and refuses what is none."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.core.errors import DataError
from scripts.bench.record import BenchRun, Measure, describe_machine, read, table, take, write

numbers = st.floats(1e-6, 1e9)
samples = st.lists(numbers, min_size=1, max_size=5).map(tuple)
words = st.text("abc_", min_size=1, max_size=6)
measures = st.lists(st.builds(Measure, words, words, samples), max_size=4).map(tuple)
settings = st.dictionaries(words, st.integers(-9, 9) | words | st.lists(words))


@given(measures, settings)
def test_a_run_is_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, kept: tuple[Measure, ...], set_to: dict[str, object]
) -> None:
    run = take("rl_step", set_to, kept, ["pytest", "no-such-package"])
    path = write(run, tmp_path_factory.mktemp("bench") / "deep" / "er")
    assert read(path) == run
    assert path.name.startswith("rl_step-20") and path.name.endswith("Z.json")


@given(samples)
def test_median_and_spread_lie_within_the_samples(values: tuple[float, ...]) -> None:
    measure = Measure("ours", "step_s", values)
    assert min(values) <= measure.median <= max(values)
    assert 0 <= measure.spread <= max(values) - min(values) + 1e-9


@given(samples, samples)
def test_a_ratio_turns_over_with_its_sides(ours: tuple[float, ...], theirs: tuple[float, ...]) -> None:
    run = BenchRun("b", {}, (Measure("ours", "x", ours), Measure("trl", "x", theirs)))
    assert run.compare("x", "ours", "trl") * run.compare("x", "trl", "ours") == pytest.approx(1)
    assert run.compare("x", "ours", "ours") == pytest.approx(1)


def test_a_measure_that_was_not_taken_is_named_with_those_that_were() -> None:
    run = BenchRun("b", {}, (Measure("ours", "step_s", (1.0,)),))
    with pytest.raises(DataError, match=r"no step_s of trl[\s\S]*ours step_s"):
        run.compare("step_s", "ours", "trl")
    with pytest.raises(DataError, match="no samples"):
        Measure("ours", "step_s", ())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": 1}', '{"schema_version": 99, "measures": []}', "3"]
)
def test_another_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"x\.json"):
        read(path)


def test_the_machine_is_described_without_its_name() -> None:
    import socket

    machine = describe_machine(["pytest", "no-such-package"])
    assert machine["versions"] == {"pytest": pytest.__version__, "no-such-package": None}
    assert isinstance(machine["cores"], int) and machine["cores"] >= 1
    assert machine["processor"] and machine["python"]
    assert socket.gethostname() not in str({key: machine[key] for key in ("system", "processor", "python")})


def test_the_table_has_a_row_a_measure() -> None:
    run = BenchRun("b", {}, (Measure("ours", "step_s", (1.0, 3.0)), Measure("trl", "step_s", (8.0,))))
    assert table(run).splitlines()[2:] == ["| ours | step_s | 2 ± 1 | 2 |", "| trl | step_s | 8 ± 0 | 1 |"]
