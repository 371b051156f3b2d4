"""Worlds: fresh, apart from each other, driven by literals; whatever a model writes is an observation."""

from __future__ import annotations

import decimal
import gc
import json
import threading
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.data.rows import DOCUMENT_FILES, documents, multi_turn_row
from BFCL.data.tests.needs import needs_package
from BFCL.execute.classes import load_class, methods, owners
from BFCL.execute.tests.moves import copies_of_copies
from BFCL.execute.world import FAILED, World
from environment.core.errors import DataError

pytestmark = needs_package

FILES = {"root": {"home": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "one\ntwo"}}}}}


def files(**more: float) -> World:
    return World(["GorillaFileSystem"], {"GorillaFileSystem": FILES}, **more)  # type: ignore[arg-type]


def maths() -> World:
    return World(["MathAPI"], {})


def test_calls_act_and_are_observed_as_json_or_as_python_writes_them() -> None:
    world = files()
    assert json.loads(world.call("ls()")) == {"current_directory_content": ["a.txt"]}
    assert world.run(["mkdir('new')", "cd(folder='new')"]) == ["None", '{"current_working_directory": "new"}']
    assert world.call("pwd()") == '{"current_working_directory": "/home/new"}'


@pytest.mark.parametrize("call", ["cat('a.txt')", 'cat(file_name="a.txt")', "  cat( 'a.txt', )\n", "cat ('a' '.txt')"])
def test_positional_named_and_spaced_arguments(call: str) -> None:
    assert files().call(call) == '{"file_content": "one\\ntwo"}'


def test_worlds_share_nothing_with_each_other_or_with_their_configuration() -> None:
    config = {"GorillaFileSystem": FILES}
    before = json.dumps(config)
    first, second = World(["GorillaFileSystem"], config), World(["GorillaFileSystem"], config)
    first.run(["echo('changed', 'a.txt')", "touch('b.txt')"])
    assert json.loads(second.call("ls()"))["current_directory_content"] == ["a.txt"]
    assert second.call("cat('a.txt')") == '{"file_content": "one\\ntwo"}' and json.dumps(config) == before
    assert first.state() != second.state()


def test_lists_of_a_call_are_the_world_s_own() -> None:
    row = multi_turn_row("multi_turn_base", "multi_turn_base_0")
    assert "TwitterAPI" in row.classes
    call = "post_tweet(content='x', tags=['#a'])"
    first, second = (World(row.classes, row.config) for _ in range(2))
    account = row.config["TwitterAPI"]
    login = f"authenticate_twitter(username={account['username']!r}, password={account['password']!r})"
    for world in (first, second):
        world.run([login, call])
    next(iter(first.state()["TwitterAPI"]["tweets"].values()))["tags"].append("#changed")
    assert "#changed" not in str(second.state())


def test_a_dropped_world_is_gone() -> None:
    world = files()
    world.run(["ls()", "mkdir('x')"])
    seen = weakref.ref(world.state()["GorillaFileSystem"]["root"])
    del world
    gc.collect()
    assert seen() is None


def test_long_context_pads_results() -> None:
    short = World(["GorillaFileSystem"], {"GorillaFileSystem": FILES})
    padded = World(["GorillaFileSystem"], {"GorillaFileSystem": FILES}, long_context=True)
    assert len(padded.call("ls()")) > 10 * len(short.call("ls()"))


@pytest.mark.parametrize(
    "call",
    [
        "__import__('os').system('touch {mark}')",
        "ls(a=__import__('pathlib').Path('{mark}').touch())",
        "ls.__globals__",
        "ls.__globals__['datetime']()",
        "GorillaFileSystem.ls()",
        "_load_scenario({{}})",
        "__init__()",
        "__class__()",
        "ls(a=[open('{mark}', 'w') for _ in 'x'])",
        "ls(**{{'a': True}})",
        "ls(a=(lambda: 1)())",
        "ls(a=f'{{1}}')",
        "lz()",
        "",
        "ls(",
        "ls() ls()",
        "[ls()]",
        "'ls()'",
        "x = ls()",
        "ls(a=True, a=False)",
        "ls\x00()",
        "(" * 3000 + ")" * 3000,
        "cat(" + "[" * 500 + "]" * 500 + ")",
    ],
)
def test_anything_but_a_literal_call_of_a_public_method_is_an_observation(call: str, tmp_path: Path) -> None:
    mark, world = tmp_path / "mark", files()
    before = world.call("find()")
    found = world.call(call.format(mark=mark))
    assert found.startswith(FAILED) and len(found) < 400
    assert not mark.exists() and world.call("find()") == before


def test_an_unknown_function_is_told_with_the_nearest() -> None:
    assert "did you mean mkdir" in files().call("mkdri('x')")


def test_any_text_is_observed() -> None:
    world = files()

    @given(st.text(max_size=60))
    def observed(text: str) -> None:
        assert isinstance(world.call(text), str)

    observed()


def test_only_public_methods_are_on_offer_and_the_documents_name_them() -> None:
    for name in DOCUMENT_FILES:
        assert {document["name"] for document in documents(name)} <= methods(name)
        assert not any(method.startswith("_") for method in methods(name))
    with pytest.raises(DataError) as told:
        load_class("TravelApi")
    assert told.value.nearest == "TravelAPI"


def test_of_two_methods_of_one_name_the_later_class_has_it() -> None:
    assert {owners((first, second))["mean"] for first, second in [("MathAPI", "TicketAPI")]} == {"MathAPI"}
    shared = methods("TravelAPI") & methods("MessageAPI")
    for method in shared:
        assert owners(("TravelAPI", "MessageAPI"))[method] == "MessageAPI"
        assert owners(("MessageAPI", "TravelAPI"))[method] == "TravelAPI"


@pytest.mark.parametrize(
    "call",
    [
        "power(base=9, exponent=999999999)",
        "power(9, 999999999)",
        "power(-9, exponent=99999999)",
        "round_number(number=5, decimal_places=-999999999)",
        "square_root(number=2, precision=999999999)",
        "logarithm(value=2, base=3, precision=99999999)",
        "logarithm(value='1e999999999', base=3, precision=5)",
        "logarithm(value=2, base=10, precision=1e9)",
    ],
)
def test_work_without_end_is_refused(call: str) -> None:
    assert maths().call(call).startswith(FAILED)


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("power(2, 10)", "1024"),
        ("power(base=2.5, exponent=2)", "6.25"),
        ("power(base=2, exponent=-1)", "0.5"),
        ("round_number(number=2.345, decimal_places=1)", "2.3"),
        ("square_root(number=16, precision=10)", "Decimal('4')"),
        ("logarithm(value=8, base=2, precision=5)", "mpf('3.0')"),
    ],
)
def test_ordinary_sums_are_worked_out(call: str, result: str) -> None:
    assert result in maths().call(call)


def test_the_caller_s_decimal_precision_is_left_alone() -> None:
    before = decimal.getcontext().prec
    maths().call("square_root(number=2, precision=77)")
    assert decimal.getcontext().prec == before


def test_a_call_that_takes_too_long_is_interrupted_and_the_next_is_not() -> None:
    world = files(call_seconds=0.2)
    world.run(copies_of_copies(40))
    slow = world.call("find(name='nowhere')")
    assert "longer than 0.2 s" in slow
    assert world.call("pwd()") == '{"current_working_directory": "/home"}'


def test_threads_get_their_own_worlds_and_the_same_results() -> None:
    expected = maths().call("square_root(number=2, precision=40)")
    found = list[str]()

    def work(precision: int) -> None:
        world = maths()
        for _ in range(50):
            text = world.call(f"square_root(number=2, precision={precision})")
            if precision == 40:
                found.append(text)

    threads = [threading.Thread(target=work, args=(precision,)) for precision in (40, 7, 40, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(found) == 100 and set(found) == {expected}
