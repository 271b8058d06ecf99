"""Tests scripts/check-words: retired words, repeated class names and the width of Markdown."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def program():
    loader = SourceFileLoader("check_words", str(ROOT / "scripts" / "check-words"))
    module = module_from_spec(spec_from_loader("check_words", loader))
    loader.exec_module(module)
    return module


def find_words(program, text, path="web/example.py"):
    return [(line, word) for _, line, word, _ in program.findings({path: text})]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("class Door:\n    pass\n", [(1, "door in a name")]),
        ("open_the_doors()\n", [(1, "door in a name")]),
        ("class PortalGate:\n    pass\n", [(1, "gate in a name")]),
        ("_told = 1\n", [(1, "told")]),
        ("class SecondStep:\n    pass\n", [(1, "second_step in a name")]),
        ("SECOND_STEP_SINCE = 1\n", [(1, "second_step in a name")]),
        ("second_steps = seconds_step = 1\n", []),
        ("MOST = 6\n", [(1, "MOST")]),
        ("x = 1  # for whoever asks\n", [(1, "whoever")]),
        ('def f():\n    """First line.\n\n    The bell rings.\n    """\n', [(4, "bell")]),
        ('x = "What came of it"\n', [(1, "what came of")]),
        ("# Without a sign of life, lest it ends.\n", [(1, "archaism"), (1, "sign of life")]),
        ("aggregate = delegate = mostly = LOWER = lookup = 1\n", []),
        ("x = 1  # A quality gate decides, most of the time.\n", []),
        ("# Look again: it was said, told and shown.\n", []),
    ],
)
def test_retired_words_are_found_in_python(program, source, found):
    assert find_words(program, source) == found


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("What a page shows.", [(2, "docstring with a clause")]),
        ("Whether it is new.", [(2, "docstring with a clause")]),
        ("Return what a page shows.", []),
        ("Whatever it is, read it.", []),
    ],
)
def test_a_docstring_that_begins_with_a_clause_is_found(program, docstring, found):
    assert find_words(program, f'def f():\n    """{docstring}"""\n') == found


def test_retired_words_are_found_in_templates_and_documentation(program):
    text = "A plain line.\nA door, and somebody's mended file.\n"
    for path in ("templates/example.html", "docs/example.md"):
        assert sorted(find_words(program, text, path)) == [
            (2, "door"),
            (2, "mend"),
            (2, "somebody"),
        ]


def test_a_retired_module_name_is_found_in_the_product_only(program):
    assert find_words(program, "", "audit/notary.py") == [(1, "module notary")]
    assert find_words(program, "", "tests/audit/notary.py") == []


def test_a_class_name_that_two_modules_define_is_found(program):
    line = "class Line:\n    pass\n"
    twice = {"audit/a.py": line, "web/b.py": line, "tests/c.py": line}
    assert [path for path, *_ in program.findings(twice)] == ["audit/a.py", "web/b.py"]
    command = line.replace("Line", "Command")
    assert list(program.findings({"audit/a.py": command, "web/b.py": command})) == []
    assert list(program.findings({"audit/export/verify_trail.py": line, "web/b.py": line})) == []


def test_markdown_prose_is_wrapped(program):
    long = "word " * 30
    wide = f"{long}\n- {long}\n> {long}\n"
    assert list(program.too_wide(wide)) == [1, 2, 3]
    exempt = f"| {long} |\n# {long}\n```\n{long}\n```\n![{long}](a.png)\n{'x' * 150}\n`{long}`\n"
    assert list(program.too_wide(exempt)) == []


def test_a_count_may_fall_and_move_with_a_renamed_file_and_never_rise(program):
    old = {"a.py": {"door": 2}, "b.py": {"door": 1}}
    assert program.too_many({"a.py": {"door": 1}}, old) == set()
    assert program.too_many({"a.py": {"door": 3}, "b.py": {"door": 1}}, old) == {("a.py", "door")}
    assert program.too_many({"renamed.py": {"door": 2}, "b.py": {"door": 1}}, old) == set()
    assert program.too_many({"new.py": {"door": 1}, **old}, old) == {("new.py", "door")}


def test_an_update_refuses_a_word_that_occurs_more_often(program, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "BASELINE", tmp_path / "baseline.json")
    old = {"a.py": {"door": 1}}
    more = program.counted([("a.py", 1, "door", ""), ("b.py", 1, "door", "")])
    assert program._update(more, old) == 1
    assert "door" in capsys.readouterr().out
    fewer = program.counted([("b.py", 1, "door", "")])
    assert program._update(fewer, old) == 0
    assert program.json.loads(program.BASELINE.read_text()) == {"b.py": {"door": 1}}
