"""Every sentence in the templates can be translated."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings
from django.template.base import Lexer, Token, TokenType

TEMPLATES = Path(settings.BASE_DIR) / "templates"

# Names and formats that are the same in every language.
UNTRANSLATED = {"SiteLedger", "SHA-256", "UTC", "en", "OK", "KB", "MB"}

# Attributes that people see or hear. Attributes whose names begin with "data-text" are sentences
# for scripts, and "data-label" is the heading of a table's cell on a narrow screen.
READ_ATTRIBUTES = {"alt", "aria-description", "aria-label", "data-label", "placeholder", "title"}
SENTENCE_ATTRIBUTES = "data-text"

# Elements whose text is not language.
SKIPPED_ELEMENTS = {"code", "kbd", "pre", "script", "style"}

# The text of a template or block that holds nothing but attributes of an element.
ATTRIBUTES = re.compile(r"""\s*(?:[\w-]+="[^"]*"\s*)+""")

# Tags whose string arguments are never shown: they are names, formats and values to compare with.
SILENT_TAGS = {
    "block", "elif", "endblock", "extends", "fault", "if", "ifchanged", "load", "now", "static",
    "url",
}  # fmt: skip
SILENT_FILTERS = ("date", "join", "slice", "time")

STRING = re.compile(r"""(?P<translated>_\()?(?P<filter>\|\w+:)?"(?P<text>[^"]*)\"""")
WORDS = re.compile(r"[^\W\d_]{2,}")
# A placeholder stands for the output of a template tag, so that the tokenizer sees whole elements.
PLACEHOLDER = "\N{REPLACEMENT CHARACTER}"


class Literals(HTMLParser):
    """Collects the words of text nodes and read attributes, with the line where each begins."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[int, str]] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped += tag in SKIPPED_ELEMENTS
        for name, value in attrs:
            if name in READ_ATTRIBUTES or name.startswith(SENTENCE_ATTRIBUTES):
                self._note(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._skipped -= tag in SKIPPED_ELEMENTS

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in SKIPPED_ELEMENTS

    def handle_data(self, data: str) -> None:
        if ATTRIBUTES.fullmatch(data.replace(PLACEHOLDER, "")):
            self.handle_starttag("", re.findall(r'([\w-]+)="([^"]*)"', data))
        elif not self._skipped:
            self._note(data)

    def _note(self, text: str) -> None:
        if has_words(text):
            self.found.append((self.getpos()[0], text.replace(PLACEHOLDER, "").strip()))


def has_words(text: str) -> bool:
    for name in UNTRANSLATED:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text)
    return bool(WORDS.search(text))


def literals(source: str, *, is_html: bool = True) -> list[tuple[int, str]]:
    """Return line number and text of each literal in a template that people read."""
    found = list(literal_arguments(source))
    texts = "".join(visible_texts(Lexer(source).tokenize()))
    if is_html:
        parser = Literals()
        parser.feed(texts)
        parser.close()
        return sorted(found + parser.found)
    lines = enumerate(texts.splitlines(), 1)
    return sorted(found + [(n, line.strip()) for n, line in lines if has_words(line)])


def visible_texts(tokens: list[Token]) -> Iterator[str]:
    """Yield the text of the template, without blocktranslate blocks and comments."""
    end = ""
    for token in tokens:
        lines = "\n" * token.contents.count("\n")
        name = token.contents.split(maxsplit=1)[0] if token.contents.strip() else ""
        if token.token_type == TokenType.BLOCK and name in {"blocktranslate", "blocktrans"}:
            end = f"end{name}"
        elif token.token_type == TokenType.BLOCK and name == "comment":
            end = "endcomment"
        elif token.token_type == TokenType.BLOCK and name == end:
            end = ""
            yield PLACEHOLDER
        if token.token_type == TokenType.TEXT and not end:
            yield token.contents
        elif token.token_type == TokenType.VAR and not end:
            yield PLACEHOLDER + lines
        else:
            yield lines


def literal_arguments(source: str) -> Iterator[tuple[int, str]]:
    """Yield string arguments of tags and filters that read like words, and are not translated."""
    for token in Lexer(source).tokenize():
        if token.token_type not in {TokenType.BLOCK, TokenType.VAR}:
            continue
        name = token.contents.split(maxsplit=1)[0]
        if token.token_type == TokenType.BLOCK and name in SILENT_TAGS | {"translate", "trans"}:
            continue
        for match in STRING.finditer(token.contents):
            is_silent = (match["filter"] or "").strip("|:") in SILENT_FILTERS
            if not match["translated"] and not is_silent and reads_like_words(match["text"]):
                yield token.lineno or 0, match["text"]


def reads_like_words(text: str) -> bool:
    """Return whether a string is a label or a sentence, rather than a name in code."""
    return has_words(text) and bool(re.search(r"^[A-Z]|\w \w", text))


def templates() -> list[Path]:
    return sorted(path for path in TEMPLATES.rglob("*") if path.suffix in {".html", ".txt"})


def test_templates_contain_no_literal_sentences() -> None:
    found = [
        f"{path.relative_to(TEMPLATES)}:{line}: {text!r}"
        for path in templates()
        for line, text in literals(path.read_text(), is_html=path.suffix == ".html")
    ]
    assert templates()
    assert found == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>Upload a packet</p>", "Upload a packet"),
        ("<p>{% if a %}Filed{% endif %}</p>", "Filed"),
        ("<p>{{ n }} documents</p>", "documents"),
        ('<input placeholder="Site number">', "Site number"),
        ('<div aria-label="Pages of {{ n }}">', "Pages of"),
        ('<div data-text-lost="Try again">', "Try again"),
        ('data-text-lost="Try again"\n', "Try again"),
        ('{% include "a.html" with here="Replace file" %}', "Replace file"),
        ('{% chip "bad" "cross" "Locked" %}', "Locked"),
        ('{{ name|default:"the site" }}', "the site"),
    ],
)
def test_literal_sentences_of_templates_are_found(source: str, text: str) -> None:
    assert literals(source) == [(1, text)]


@pytest.mark.parametrize(
    "source",
    [
        '<p>{% translate "Upload a packet" %}</p>',
        (
            "<p>{% blocktranslate count n=n %}{{ n }} page{% plural %}{{ n }} pages"
            "{% endblocktranslate %}</p>"
        ),
        "{# The first button sends the packet. #}",
        "{% comment %}Not shown{% endcomment %}",
        '<script>"use strict"</script>',
        '<a class="sl-button" href="/upload/">{{ label }}</a>',
        '{% if row.state == "Open now" %}{% endif %}',
        '{{ day|date:"j M Y" }}',
        '{% chip "bad" "cross" _("Locked") %}',
        "<dt>SHA-256</dt>",
        "<pre>python3 verify_trail.py</pre>",
        '{% block tab %}aria-current="true"{% endblock %}',
    ],
)
def test_translatable_sentences_are_not_reported_as_literals(source: str) -> None:
    assert literals(source) == []


def test_literal_sentences_of_email_templates_are_found() -> None:
    source = '{% translate "Dear reader" %}\n{{ name }}: checked\n'
    assert literals(source, is_html=False) == [(2, f"{PLACEHOLDER}: checked")]
