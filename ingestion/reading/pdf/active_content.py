"""What a PDF could do or carry besides showing pages: scripts, launches, attachments, links, XFA.

Every object of the file is looked at, whatever it hangs on: an action may wait at an outline item,
behind a hundred others, or where only another reader's repair would find it. Nothing is ever
executed or fetched; the flags are for the rules and the reviewer. Imported where a file is not
plainly `inert`: pikepdf takes longer to start than a file to read.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import pikepdf

MAX_OBJECTS_PER_FILE = 400_000  # of one document; a book of a thousand pages has a tenth of them
WRONG_SIZE = "reported number of objects"  # a warning of qpdf's that is of no object
MAX_FIELDS = 20_000
MAX_FIELD_DEPTH = 32  # fields within fields; forms have two or three levels
QPDF_ERRORS = (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError, ValueError, MemoryError)

# By the name that stands under /S, an action's kind, or /Subtype, an annotation's.
KINDS = {
    "/JavaScript": "javascript",
    "/Launch": "launch",
    "/GoToE": "embedded-file",
    "/Rendition": "embedded-file",
    "/RichMedia": "embedded-file",
    "/RichMediaExecute": "embedded-file",
    "/FileAttachment": "embedded-file",
    "/GoToR": "file-link",
    "/ImportData": "remote",
    "/SubmitForm": "remote",
}
KEYS = {
    "/JS": "javascript",
    "/JavaScript": "javascript",
    "/OnInstantiate": "javascript",  # what a 3D picture runs
    "/AF": "embedded-file",
    "/EF": "embedded-file",
    "/EmbeddedFiles": "embedded-file",
}
FOR_LETTERS_TOO = {"/AF", "/EF"}  # a font may call its 175th letter so, which is a stream
ADDRESSES = {"/URI", "/Base"}  # of a link, and what it is relative to: it may be a script
SCRIPT_SCHEMES = ("javascript:", "vbscript:", "data:")  # of addresses that a viewer may run
# Links to such files show another document; a launch of any other file may start a program.
DOCUMENT_SUFFIXES = frozenset({
    ".pdf", ".doc", ".docx", ".odt", ".rtf", ".txt", ".xls", ".xlsx", ".ods", ".csv", ".ppt",
    ".pptx", ".odp", ".jpg", ".jpeg", ".png", ".tif", ".tiff",
})  # fmt: skip
MAX_SCRIPT_CHARACTERS = 2_000  # of a field's format; a longer script is not looked through
# Calls of the functions with which Acrobat formats and checks the entries of a form (JavaScript
# for Acrobat API Reference, "AF" functions), with plain values as arguments, and nothing else.
_VALUE = r"""(?:-?(?:\d++(?:\.\d*+)?|\.\d++)|true|false|null|"[^"\\\r\n]*"|'[^'\\\r\n]*')"""
_VALUES = rf"(?:\s*+{_VALUE}\s*+(?:,\s*+{_VALUE}\s*+)*+)?"
_ARGUMENT = rf"(?:{_VALUE}|new\s++Array\s*+\({_VALUES}\))"
_FORMAT_CALL = (
    r"AF(?:(?:Number|Percent|Date|Time|Special)_(?:Format|Keystroke)(?:Ex)?"
    r"|Range_Validate|Simple_Calculate)"
    rf"\s*+\((?:\s*+{_ARGUMENT}\s*+(?:,\s*+{_ARGUMENT}\s*+)*+)?\)\s*+;?\s*+"
)
_ONLY_FORMATS = re.compile(rf"\s*+(?:{_FORMAT_CALL})++")
_SIGNATURE = b"/Sig"
# As qpdf writes names: without the escapes that a file may hide them behind.
_TELLING = re.compile(
    rb"/(?:%b)(?![^\s()<>\[\]{}/%%])"
    % b"|".join(sorted(name[1:].encode() for name in {*KINDS, *KEYS, *ADDRESSES}))
)
_SCRIPT = re.compile(rb"<(?:[\w.-]+:)?script\b")  # of an XFA form, which is XML


def find_active_content(path: Path) -> frozenset[str]:
    """Those of `Reading`. `unsearched` where qpdf fails, or there is more than it looks at."""
    try:
        with pikepdf.open(path, password="") as opened:
            return frozenset(_flags(opened))
    except QPDF_ERRORS:
        return frozenset({"unsearched"})


def _flags(opened: pikepdf.Pdf) -> Iterator[str]:
    yield from _xfa_flags(opened.Root)
    if len(opened.objects) > MAX_OBJECTS_PER_FILE:
        yield "unsearched"
        return
    may_be_signed = is_any_missing = False
    for found in opened.objects:
        is_any_missing = is_any_missing or found is None
        if isinstance(found, pikepdf.Object):  # numbers come as Python's own
            written = _written(found)
            may_be_signed = may_be_signed or _SIGNATURE in written
            if _TELLING.search(written):
                yield from _own_flags(found)
        if isinstance(found, pikepdf.Stream) and "/F" in found:
            yield "remote"  # its contents are in another file
    if is_any_missing and any(WRONG_SIZE not in each for each in opened.get_warnings()):
        yield "unsearched"  # as an array in a thousand others, which qpdf gives up and pdfium reads
    if may_be_signed and any(map(is_signed_field, form_fields(opened))):
        yield "digital-signature"


def _xfa_flags(root: pikepdf.Object) -> Iterator[str]:
    form = get_dictionary(root, "/AcroForm")
    if "/XFA" in form:
        yield "xfa"
        packets = [*get_array(form, "/XFA"), form["/XFA"]]
        texts = (each.read_bytes() for each in packets if isinstance(each, pikepdf.Stream))
        if any(_SCRIPT.search(text.replace(b"\0", b"")) for text in texts):  # also in UTF-16
            yield "javascript"
    # ISO 32000-1, table 28: such pages say only "please wait"; an XFA processor draws the form.
    if root.get("/NeedsRendering") or ("/XFA" in form and not get_array(form, "/Fields")):
        yield "xfa-dynamic"


def _written(found: pikepdf.Object) -> bytes:
    """As it would be written to a file, without what it refers to."""
    if isinstance(found, pikepdf.Stream):
        found = found.stream_dict
    return bytes(found.unparse(resolved=True))


def _own_flags(found: pikepdf.Object) -> Iterator[str]:
    """Of the dictionaries within one object."""
    if isinstance(found, pikepdf.Name):  # the kind of an action, which only refers to it
        yield from _known(KINDS, found)
    waiting = [found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, pikepdf.Array):
            waiting += [inner for inner in each if _is_within(inner)]
        elif isinstance(each, pikepdf.Dictionary | pikepdf.Stream):
            yield from _flags_of(each)
            waiting += [inner for inner in each.values() if _is_within(inner)]


def _flags_of(each: pikepdf.Dictionary | pikepdf.Stream) -> Iterator[str]:
    """Of one dictionary, without those within it."""
    is_format, is_link = _is_field_format(each), _is_document_link(each)
    if is_link:
        yield "file-link"
    if not (is_format or is_link):
        yield from _known(KINDS, each.get("/S"))
    yield from _known(KINDS, each.get("/Subtype"))
    for key, inner in each.items():
        is_letter = isinstance(inner, pikepdf.Stream) and key in FOR_LETTERS_TOO
        if not (is_letter or (is_format and key == "/JS")):
            yield from _known(KEYS, key)
        if key in ADDRESSES and _runs_script(inner):
            yield "javascript"


def _is_field_format(action: pikepdf.Object) -> bool:
    """Return whether an action only formats or checks a field's entry with Acrobat's functions.

    Blank forms are full of them: a date, a number with two decimals.
    """
    script = action.get("/JS")
    if action.get("/S") != "/JavaScript" or not isinstance(script, pikepdf.String):
        return False
    text = str(script)
    return len(text) <= MAX_SCRIPT_CHARACTERS and _ONLY_FORMATS.fullmatch(text) is not None


def _is_document_link(action: pikepdf.Object) -> bool:
    """Return whether an action launches a document beside the file, as converters write links.

    Such a launch names a document by a relative path, and gives no program any parameters.
    """
    if action.get("/S") != "/Launch" or any(key in action for key in ("/Win", "/Unix", "/Mac")):
        return False
    target = action.get("/F")
    names = [target]
    if isinstance(target, pikepdf.Dictionary):
        keys = ("/F", "/UF", "/DOS", "/Unix", "/Mac", "/FS")
        names = [target[key] for key in keys if key in target]
    return bool(names) and all(map(_is_document_beside, names))


def _is_document_beside(name: object) -> bool:
    path = PureWindowsPath(str(name)) if isinstance(name, pikepdf.String) else PureWindowsPath()
    is_relative = str(path).isprintable() and not path.anchor and ":" not in str(path)
    return is_relative and path.suffix.casefold() in DOCUMENT_SUFFIXES


def _runs_script(address: object) -> bool:
    """Return whether a viewer that opens this address may run it: blanks and case are ignored."""
    plain = re.sub(r"[\x00-\x20]", "", str(address)).casefold()
    return isinstance(address, pikepdf.String) and plain.startswith(SCRIPT_SCHEMES)


def _known(find_active_content: dict[str, str], name: object) -> Iterator[str]:
    if (flag := find_active_content.get(str(name))) is not None:
        yield flag


def _is_within(inner: object) -> bool:
    return isinstance(inner, pikepdf.Object) and not inner.is_indirect


def is_signed_field(field: pikepdf.Object) -> bool:
    """Return whether it is a signature field with a value. Its kind may be an ancestor's."""
    return "/V" in field and any(each.get("/FT") == "/Sig" for each in field_ancestry(field))


def field_ancestry(field: pikepdf.Object) -> Iterator[pikepdf.Object]:
    """The field and those that it is within, the innermost first."""
    each: pikepdf.Object | None = field
    for _ in range(MAX_FIELD_DEPTH):
        if not isinstance(each, pikepdf.Dictionary):
            return
        yield each
        each = each.get("/Parent")


def form_fields(opened: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """The form's fields, and those that only a page knows."""
    form = get_dictionary(opened.Root, "/AcroForm")
    on_pages = (each for page in opened.pages for each in get_array(page.obj, "/Annots"))
    waiting = [*get_array(form, "/Fields"), *on_pages]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < MAX_FIELDS:
        field = waiting.pop()
        if isinstance(field, pikepdf.Dictionary) and not _met(field, seen):
            yield field
            waiting += get_array(field, "/Kids")


def get_dictionary(owner: pikepdf.Object, key: str) -> pikepdf.Object:
    """An empty one where there is none."""
    found = owner.get(key)
    return found if isinstance(found, pikepdf.Dictionary) else pikepdf.Dictionary()


def get_array(owner: pikepdf.Object, key: str) -> list[pikepdf.Object]:
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
