"""Leaves out what shows the values of another edition: an earlier one, or the master of a site's.

These are the cells of a table below "Previous", and the version of the master in the footer of the
consent form of a site. Their values are not those of the document, and the words beside them do not
tell them apart. They are left out before the values are read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules.fields import geometry
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.text_lines import TextLine, find_column, split_lines
from ingestion.rules.fields.values import words_at

_NOUNS = (
    "approval", "approvals", "approved", "version", "versions", "value", "values", "period",
    "periods", "review", "reviews", "submission", "submissions", "entry", "text", "wording",
    "date", "dates", "document", "documents", "details", "information", "status",
)  # fmt: skip
_OLD_WORDS = (
    "previous", "previously", "prior", "former", "formerly", "old", "superseded", "replaced",
    "earlier", "last", "existing", "before", "was",
)  # fmt: skip
_CURRENT_WORDS = ("current", "currently", "present")
_NEW_WORDS = (
    "new", "newly", "revised", "amended", "proposed", "updated", "renewed", "latest", "after",
    "now",
)  # fmt: skip
_OLD, _CURRENT, _NEW = (
    re.compile(rf"(?i)(?:the\s)?(?:{'|'.join(words)})(?:\s(?:{'|'.join(_NOUNS)}))*")
    for words in (_OLD_WORDS, _CURRENT_WORDS, _NEW_WORDS)
)
# The heads of two columns in the order of the text, which is faster to search than the lines.
_HAS_HEADS = re.compile(
    rf"(?i)\b{_OLD.pattern[4:]}\s+(?:{_NEW.pattern[4:]}|{_CURRENT.pattern[4:]})(?!\w)"
    rf"|\b(?:{_NEW.pattern[4:]}|{_CURRENT.pattern[4:]})\s+{_OLD.pattern[4:]}(?!\w)"
    rf"|\b{_CURRENT.pattern[4:]}\s+{_NEW.pattern[4:]}(?!\w)"
    rf"|\b{_NEW.pattern[4:]}\s+{_CURRENT.pattern[4:]}(?!\w)"
)
_KINDS_OF_HEADS = {
    word: words for words in (_OLD_WORDS, _CURRENT_WORDS, _NEW_WORDS) for word in words
}
_BETWEEN_HEADS = frozenset(("the", *_NOUNS))
_WORD = re.compile("[a-z]+")
# The version of a master, up to that of the site in the same line, and the version of a site.
_MASTER_VERSION = re.compile(
    r"(?im)\b(?:master|(?:main|core|global)\s(?:icf|pi[sc]f?|picf|informed|consent|participant))\b"
    r"(?:(?!\b(?:site|local)\b)[^\n]){0,60}?\bv(?:er(?:sion)?)?\.?\s?\d"
    r"[^\n]*?(?=\b(?:site|local)\b|$)"
)
_SITE_VERSION = re.compile(
    r"(?i)\b(?:site|local)\b(?:(?!master)[^\n.;]){0,60}?\bv(?:er(?:sion)?)?\.?\s?"
    r"(?P<version>\d{1,2}\s[a-z]{3,9}\s\d{4}|\d[\w./-]*)"
)
_MAX_OFFSET = 6.0  # points between the left edges of the cells of a column


def without_superseded_cells(reading: DocumentReading) -> DocumentReading:
    """Return a reading without the cells that show what was valid before."""
    pages: Iterable[PageReading] = reading.pages
    if has_master_version(reading):
        pages = map(_without_master_version, pages)
    pages = map(_without_superseded_cells, pages)
    return replace(reading, pages=tuple(pages))


def has_master_version(reading: DocumentReading) -> bool:
    """Return whether a document states the version of a master beside that of the site.

    A site without a version of its own may repeat the date of the master.
    """
    texts = [page.text for page in reading.pages]
    masters = " ".join([found[0] for text in texts for found in _MASTER_VERSION.finditer(text)])
    return bool(masters) and any(
        site["version"] not in masters or next(find_dates(site["version"]), None) is None
        for text in texts
        for site in _SITE_VERSION.finditer(text)
    )


def _without_master_version(page: PageReading) -> PageReading:
    left_out: set[int] = set()
    for line in split_lines(page):
        for found in _MASTER_VERSION.finditer(line.text):
            left_out.update(map(id, words_at(line.words, *found.span())))
    words = tuple(word for word in page.words if id(word) not in left_out)
    return replace(page, words=words, text=_MASTER_VERSION.sub("", page.text))


def _without_superseded_cells(page: PageReading) -> PageReading:
    if not _may_have_heads(page.text) or not _HAS_HEADS.search(page.text):
        return page
    lines = split_lines(page)
    columns = [
        [head, *_find_cells(head, lines)] if is_old else [head]
        for head, is_old in _find_heads(lines)
    ]
    if not columns:
        return page
    left_out = {id(word) for cells in columns for cell in cells for word in cell.words}
    words = tuple(word for word in page.words if id(word) not in left_out)
    text = page.text
    for cells in columns:
        text = _without_texts(text, cells)
    return replace(page, words=words, text=text)


def _may_have_heads(text: str) -> bool:
    """Return False if no words of two kinds of heads follow each other, which is found out fast."""
    last: Sequence[str] | None = None
    for word in _WORD.findall(text.replace("\u0130", "i").casefold().replace("\u0131", "i")):
        kind = _KINDS_OF_HEADS.get(word)
        if kind is None:
            last = last if word in _BETWEEN_HEADS else None
        elif last is not None and kind is not last:
            return True
        else:
            last = kind
    return False


def _find_heads(lines: Sequence[TextLine]) -> Iterator[tuple[TextLine, bool]]:
    """Yield the heads of columns that another column of the same row replaces, as old.

    The head of that column is yielded, too, if it says nothing else.
    """
    for head in lines:
        is_old, is_current = _OLD.fullmatch(head.text), _CURRENT.fullmatch(head.text)
        if not is_old and not is_current:
            continue
        others = [
            line
            for line in lines
            if line is not head and geometry.is_on_same_line(line.box, head.box)
        ]
        new = [line for line in others if _NEW.fullmatch(line.text)]
        new = new or [line for line in others if is_old and _CURRENT.fullmatch(line.text)]
        if new:
            yield head, True
            yield from ((line, False) for line in new if " " not in line.text)


def _find_cells(head: TextLine, lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """Yield the cells below a head that have a text to their left."""
    for cell in find_column(head, lines, max_offset=_MAX_OFFSET):
        if any(
            line.box.right <= cell.box.left and geometry.is_on_same_line(line.box, cell.box)
            for line in lines
        ):
            yield cell


def _without_texts(text: str, cells: Sequence[TextLine]) -> str:
    """Return a text without those of some cells, each removed once, from the top down."""
    start = 0
    for cell in cells:
        at = text.find(cell.text, start)
        if at >= 0:
            text, start = text[:at] + text[at + len(cell.text) :], at
    return text
