"""Scripts contain no sentences: the pages give them translated ones (CONTRIBUTING.md)."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "static" / "siteledger"
SCRIPTS = sorted(FOLDER.glob("*.js"))
COMMENT = re.compile(r"^\s*//.*$|\s// .*$", re.MULTILINE)
LITERAL = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")
VALUE = re.compile(r"\$\{[^}]*\}")
SENTENCE = re.compile(r"[A-Z][a-z]+[ .]|[a-z]+ [a-z]+ [a-z]+")  # "The file", or three words


def sentences(script: str) -> list[str]:
    """Return the string literals of a script that read like text for people."""
    literals = (match[2] for match in LITERAL.finditer(COMMENT.sub("", script)))
    return [literal for literal in literals if SENTENCE.search(VALUE.sub("", literal))]


def test_sentences_are_distinguished_from_selectors_and_names():
    assert sentences('note.textContent = "The file is empty.";') == ["The file is empty."]
    assert sentences('const text = `${n} files left out`; // a comment "of some words"')
    assert not sentences("""query("select, textarea, input:not([type=hidden]), a"); 'X-Fragment'""")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_contain_no_sentences(path):
    assert sentences(path.read_text()) == []
