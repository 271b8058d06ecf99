"""What a PDF could do or carry besides showing pages: scripts, launches, attachments, XFA.

Nothing is ever executed or fetched; the flags are for the rules and the reviewer. Imported where
a file is not plainly `inert`: pikepdf takes longer to start than a file to read.
"""

from collections.abc import Iterator
from pathlib import Path

import pikepdf

MOST_OWNERS = 20_000  # objects looked at in one document
QPDF_ERRORS = (pikepdf.PdfError, RuntimeError, ValueError, MemoryError)
ACTION_FLAGS = {
    "/JavaScript": "javascript",
    "/Launch": "launch",
    "/GoToE": "embedded-file",
    "/Rendition": "embedded-file",
}


def flags(path: Path) -> frozenset[str]:
    """Some of: javascript, launch, embedded-file, xfa, digital-signature. None where qpdf fails."""
    try:
        with pikepdf.open(path, password="") as opened:
            return frozenset(_flags(opened))
    except QPDF_ERRORS:
        return frozenset()


def _flags(opened: pikepdf.Pdf) -> Iterator[str]:
    names = _dictionary(opened.Root, "/Names")
    if "/JavaScript" in names:
        yield "javascript"
    if "/EmbeddedFiles" in names or "/AF" in opened.Root:
        yield "embedded-file"
    # ISO 32000-1, table 28: such pages say only "please wait"; an XFA processor draws the form.
    if "/XFA" in _dictionary(opened.Root, "/AcroForm") or opened.Root.get("/NeedsRendering"):
        yield "xfa"
    for owner in _owners(opened):
        yield from _own_flags(owner)


def _own_flags(owner: pikepdf.Object) -> Iterator[str]:
    if owner.get("/Subtype") == "/FileAttachment":
        yield "embedded-file"
    if owner.get("/FT") == "/Sig" and "/V" in owner:
        yield "digital-signature"
    for action in _actions(owner):
        if (kind := ACTION_FLAGS.get(str(action.get("/S")))) is not None:
            yield kind


def _owners(opened: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Whatever may carry an action: the catalogue, pages, annotations and form fields."""
    fields = _dictionary(opened.Root, "/AcroForm")
    waiting = [opened.Root, *(page.obj for page in opened.pages), *_array(fields, "/Fields")]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < MOST_OWNERS:
        owner = waiting.pop()
        if isinstance(owner, pikepdf.Dictionary) and not _met(owner, seen):
            yield owner
            waiting += [*_array(owner, "/Annots"), *_array(owner, "/Kids")]


def _actions(owner: pikepdf.Object) -> Iterator[pikepdf.Object]:
    """Its actions, each followed through what it does next."""
    triggers = _dictionary(owner, "/AA")
    starts = [owner.get("/A"), owner.get("/OpenAction"), *map(triggers.get, triggers.keys())]
    seen: set[tuple[int, int]] = set()
    for start in starts:
        step = start
        while isinstance(step, pikepdf.Dictionary) and not _met(step, seen):
            yield step
            step = step.get("/Next")


def _dictionary(owner: pikepdf.Object, key: str) -> pikepdf.Object:
    found = owner.get(key)
    return found if isinstance(found, pikepdf.Dictionary) else pikepdf.Dictionary()


def _array(owner: pikepdf.Object, key: str) -> list[pikepdf.Object]:
    found = owner.get(key)
    return list(found) if isinstance(found, pikepdf.Array) else []


def _met(found: pikepdf.Object, seen: set[tuple[int, int]]) -> bool:
    """Whether an indirect object was met before; notes it."""
    number = found.objgen
    if number == (0, 0):
        return False
    met = number in seen
    seen.add(number)
    return met
