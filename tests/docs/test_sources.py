"""Every row of docs/sources.md names modules, tests and decision records that exist.

The names and marks of tests are read from their files, because collecting them takes long.
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
TEST = re.compile(
    r"(?P<postgresql>scripts/with-postgresql )?\.venv/bin/pytest -q (?P<file>tests/[\w/]+\.py)"
    r" -k (?P<part>\w+)"
)
DRILL = re.compile(r"\.venv/bin/python -m bench\.drills ([\w-]+)")
SOURCES = 5
OPEN = "open"
HOSTS = "tests/ingestion/dispatch/processes/test_several_hosts.py"  # on PostgreSQL only


def read_rows():
    return [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


@functools.cache
def read_databases_of_tests(file):
    """Return the only database on which each test of a file runs, or None, by the test's name."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    of_module = read_database([constants.get("pytestmark")], constants)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name: read_database(node.decorator_list, constants) or of_module
        for node in ast.walk(tree)
        if isinstance(node, functions) and node.name.startswith("test_")
    }


def read_database(marks, constants):
    """Return the database that the mark `only_on` names among these expressions, or None."""
    for mark in filter(None, marks):
        value = constants.get(mark.id) if isinstance(mark, ast.Name) else mark
        for node in ast.walk(value) if value else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "only_on":
                return node.args[0].value
    return None


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
    if not (ROOT / test["file"]).exists():
        return f"{test['file']} does not exist"
    databases = [
        database
        for name, database in read_databases_of_tests(test["file"]).items()
        if test["part"] in name
    ]
    if not databases:
        return f"{command} selects no test"
    if {None, "postgresql" if test["postgresql"] else "sqlite"}.isdisjoint(databases):
        return f"{command} only skips tests of another database"
    return ""


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


def test_only_a_mark_skips_a_test_on_one_of_the_databases():
    """So the rows cannot name a command that skips its tests without a fault."""
    skip = re.compile(r"skipif\([^\n]*\n?[^\n]*vendor|vendor[^\n]*:\n\s+pytest\.skip\(")
    files = (ROOT / "tests").rglob("*.py")
    found = [path.name for path in files if skip.search(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("where", "check", "fault"),
    [
        ("`ingestion/none.py`", "`.venv/bin/pytest -q tests/docs/test_sources.py -k gap`", "none"),
        (
            "`docs/api.md`",
            "`.venv/bin/pytest -q tests/docs/test_sources.py -k zebra`",
            "selects no",
        ),
        (
            "`docs/api.md`",
            f"`.venv/bin/pytest -q {HOSTS} -k killed_host`",
            "only skips tests of another database",
        ),
        (
            "`docs/api.md`",
            "`scripts/with-postgresql .venv/bin/pytest -q tests/config/test_sqlite.py -k test_`",
            "only skips tests of another database",
        ),
        ("`docs/api.md`", "`.venv/bin/pytest -q tests/test_none.py -k gap`", "does not exist"),
        ("`docs/api.md`", "`.venv/bin/python -m bench.drills fire`", "is no drill"),
        ("`docs/api.md`", "see above", "names no module or no command"),
    ],
)
def test_a_row_that_cannot_be_checked_is_named(where, check, fault):
    [found] = find_faults(("0.1", "a claim", where, check, ""))
    assert fault in found
