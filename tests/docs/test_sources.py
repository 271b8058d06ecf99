"""Every row of docs/sources.md names modules, tests and decision records that exist.

The names of tests are read from their files, because collecting them takes long.
"""

import ast
import functools
import re

import pytest
from django.conf import settings

from bench.drills import DRILLS

ROOT = settings.BASE_DIR
PAGE = ROOT / "docs" / "sources.md"
ROW = re.compile(r"^\| (\d\.\d+) \| (.+) \| (.+) \| (.+) \| (.*) \|$", re.MULTILINE)
TEST = re.compile(r"\.venv/bin/pytest -q (tests/[\w/]+\.py) -k (\w+)")
DRILL = re.compile(r"\.venv/bin/python -m bench\.drills ([\w-]+)")
SOURCES = 5
OPEN = "open"


def read_rows():
    return [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


@functools.cache
def list_tests(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.walk(tree) if isinstance(node, functions)]
    return [name for name in names if name.startswith("test_")]


def find_faults(row):
    """Yield what is wrong with one row."""
    _, _, where, check, difference = row
    if where == check == OPEN:
        if not difference:
            yield "the row is open and does not say what is missing"
        return
    paths, commands = re.findall(r"`([^`]+)`", where), re.findall(r"`([^`]+)`", check)
    if not paths or not commands:
        yield "the row names no module or no command"
    records = [f"docs/{record}" for record in re.findall(r"\]\((adr/[^)]+)\)", difference)]
    yield from (
        f"{path} does not exist" for path in (*paths, *records) if not (ROOT / path).exists()
    )
    yield from filter(None, map(find_fault_of_command, commands))


def find_fault_of_command(command):
    """Return what is wrong with a command, or an empty string."""
    if drill := DRILL.fullmatch(command):
        return "" if drill[1] in DRILLS else f"{drill[1]} is no drill"
    test = TEST.fullmatch(command)
    if not test:
        return f"{command} is no command that this test understands"
    if not (ROOT / test[1]).exists():
        return f"{test[1]} does not exist"
    is_found = any(test[2] in name for name in list_tests(test[1]))
    return "" if is_found else f"{command} selects no test"


def test_every_row_names_modules_tests_and_decisions_that_exist():
    faults = [f"{row[0]}: {fault}" for row in read_rows() for fault in find_faults(row)]
    assert faults == []


def test_the_rows_of_each_source_are_numbered_without_a_gap():
    numbers = [row[0] for row in read_rows()]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(numbers) == sum(bool(re.match(r"\| \d", line)) for line in lines)
    for source in range(SOURCES):
        own = [number for number in numbers if number.startswith(f"{source}.")]
        assert own == [f"{source}.{place}" for place in range(1, len(own) + 1)]
        assert own


@pytest.mark.parametrize(
    ("where", "check", "fault"),
    [
        ("`ingestion/none.py`", "`.venv/bin/pytest -q tests/docs/test_sources.py -k gap`", "none"),
        (
            "`docs/api.md`",
            "`.venv/bin/pytest -q tests/docs/test_sources.py -k zebra`",
            "selects no",
        ),
        ("`docs/api.md`", "`.venv/bin/pytest -q tests/test_none.py -k gap`", "does not exist"),
        ("`docs/api.md`", "`.venv/bin/python -m bench.drills fire`", "is no drill"),
        ("`docs/api.md`", "see above", "names no module or no command"),
    ],
)
def test_a_row_that_cannot_be_checked_is_named(where, check, fault):
    [found] = find_faults(("0.1", "a claim", where, check, ""))
    assert fault in found
