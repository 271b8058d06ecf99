"""Searches a PDF for active content: scripts, launches, attachments, links and XFA forms.

Scripts that only format fields (`harmless_scripts`) and links to documents beside the file are no
active content.

Every object of the file is examined, regardless of what refers to it. An action may belong to an
outline item, follow a hundred other actions, or become reachable only through the repair of
another reader. No action is executed, and nothing is fetched. The flags are for the rules and the
reviewer.

This module is imported only for a file that is not certainly static (`static_pdf`), because
pikepdf takes longer to start than a file takes to read.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath

import pikepdf

from ingestion.reading.pdf.harmless_scripts import is_harmless_script

MAX_OBJECTS_PER_FILE = 400_000  # that are examined; a book of 1,000 pages has a tenth of them
MAX_FIELDS = 20_000  # of one form
MAX_FIELD_DEPTH = 32  # fields within fields; forms have two or three levels
DIRECT_OBJECT = (0, 0)  # the object and generation numbers of an object within another one
# Part of a warning of qpdf's that concerns no object.
OBJECT_COUNT_WARNING = "reported number of objects"
# qpdf's warning of an object that the table places before the first one. PDFs of macOS have some.
_OFFSET_WARNING = re.compile(r"\(object (\d+) \d+\): object has offset 0\b")
_OBJECT_START = re.compile(rb"(?<!\d)(\d{1,10})[\s\0]+\d{1,5}[\s\0]+obj(?![a-z])")
QPDF_ERRORS = (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError, ValueError, MemoryError)

# Flags by name: the kind of an action (/S), or of an annotation (/Subtype).
KIND_FLAGS = {
    "/JavaScript": "javascript",
    "/Launch": "launch",
    "/GoToE": "embedded-file",
    "/Rendition": "embedded-file",
    "/RichMedia": "embedded-file",
    "/RichMediaExecute": "embedded-file",
    "/FileAttachment": "embedded-file",
    "/GoToR": "file-link",
    "/Thread": "file-link",  # only with a file
    "/ImportData": "remote",
    "/SubmitForm": "remote",
}
# Flags by the key of a dictionary.
KEY_FLAGS = {
    "/JS": "javascript",
    "/JavaScript": "javascript",
    "/OnInstantiate": "javascript",  # the script of a 3D artwork
    "/AF": "embedded-file",
    "/EF": "embedded-file",
    "/EmbeddedFiles": "embedded-file",
}
GLYPH_KEYS = {"/AF", "/EF"}  # may also be names of glyphs in a font, whose values are streams
ADDRESS_KEYS = {"/URI", "/Base"}  # of a link, and of its base, either of which may be a script
SCRIPT_SCHEMES = ("javascript:", "vbscript:", "data:")  # of addresses that a viewer may run
# The address of a button of a web page that was printed to PDF. It does nothing.
_EMPTY_SCRIPT = re.compile(r"javascript:(?:void\(?0\)?)?;?")
# A launch of such a file opens a document. A launch of any other file may start a program.
SIBLING_KINDS = ("/Launch", "/GoToR", "/Thread")
DOCUMENT_SUFFIXES = frozenset({
    ".pdf", ".doc", ".docx", ".odt", ".rtf", ".txt", ".xls", ".xlsx", ".ods", ".csv", ".ppt",
    ".pptx", ".odp", ".jpg", ".jpeg", ".png", ".tif", ".tiff",
})  # fmt: skip
# Keys of actions that run without a click, for example when a file or a page is opened.
AUTOMATIC_KEYS = {"/OpenAction", "/AA"}
CLICK_KEYS = {"/D", "/U"}  # of additional actions: the button of the mouse is pressed or released
MAX_NEXT_ACTIONS = 1_000  # that follow one another
_SIGNATURE_NAME = b"/Sig"
_ACTIVE_NAMES = {*KIND_FLAGS, *KEY_FLAGS, *ADDRESS_KEYS, *AUTOMATIC_KEYS}
# Any of the names above as qpdf writes it: without the escapes that a file may hide it behind.
# Links to plain addresses are left out, because many files have hundreds of them.
_ACTIVE_NAME = re.compile(
    rb"/(?!URI\s*(?:\((?:https?:|mailto:|tel:|www\.)|[/>]))(?:%b)(?![^\s()<>\[\]{}/%%])"
    % b"|".join(sorted(name[1:].encode() for name in _ACTIVE_NAMES))
)
_XFA_SCRIPT = re.compile(rb"<(?:[\w.-]+:)?script\b")  # an XFA form is XML


def find_active_content(path: Path) -> frozenset[str]:
    """Return the flags of a PDF, as in `DocumentReading.flags`.

    The flag is `unsearched` if qpdf fails, or if the file has more objects than are examined.
    """
    try:
        with pikepdf.open(path, password="") as opened:
            return frozenset(_flags_of_file(opened, path))
    except QPDF_ERRORS:
        return frozenset({"unsearched"})


def _flags_of_file(opened: pikepdf.Pdf, path: Path) -> Iterator[str]:
    yield from _xfa_flags(opened.Root)
    yield from _portfolio_flags(opened)
    if len(opened.objects) > MAX_OBJECTS_PER_FILE:
        yield "unsearched"
        return
    may_be_signed = is_any_missing = False
    for item in opened.objects:
        is_any_missing = is_any_missing or item is None
        if isinstance(item, pikepdf.Object):  # numbers are Python's own types
            # The object as qpdf writes it to a file, without the objects that it refers to.
            dictionary = item.stream_dict if isinstance(item, pikepdf.Stream) else item
            written = bytes(dictionary.unparse(resolved=True))
            may_be_signed = may_be_signed or _SIGNATURE_NAME in written
            if _ACTIVE_NAME.search(written):
                yield from _flags_of_object(item)
        if isinstance(item, pikepdf.Stream) and "/F" in item:
            yield "remote"  # the stream's contents are in another file
    if is_any_missing and _may_hide_objects(opened.get_warnings(), path):
        # For example an array in a thousand others, which qpdf gives up on and pdfium reads.
        yield "unsearched"
    if may_be_signed and any(map(is_signed_field, iter_form_fields(opened))):
        yield "digital-signature"


def _may_hide_objects(warnings: list[str], path: Path) -> bool:
    """Return whether another reader may find objects that qpdf did not.

    An object without a place is none if its beginning is nowhere in the file.
    """
    explained = (_OFFSET_WARNING.search(each) for each in warnings)
    missing = {int(each[1]) for each in explained if each}
    others = [
        each
        for each in warnings
        if OBJECT_COUNT_WARNING not in each and not _OFFSET_WARNING.search(each)
    ]
    if others or not missing:
        return bool(others)
    return any(int(found[1]) in missing for found in _OBJECT_START.finditer(path.read_bytes()))


def _portfolio_flags(opened: pikepdf.Pdf) -> Iterator[str]:
    if "/Collection" in opened.Root and len(opened.attachments):  # ISO 32000-1, 12.3.5
        yield "portfolio"


def _xfa_flags(root: pikepdf.Object) -> Iterator[str]:
    form = get_dictionary(root, "/AcroForm")
    if "/XFA" in form:
        yield "xfa"
        packets = [*get_array(form, "/XFA"), form["/XFA"]]
        texts = (each.read_bytes() for each in packets if isinstance(each, pikepdf.Stream))
        # Without NUL bytes, a script is also found in UTF-16.
        if any(_XFA_SCRIPT.search(text.replace(b"\0", b"")) for text in texts):
            yield "javascript"
    # ISO 32000-1, table 28: the pages of such a file only say "please wait", and an XFA processor
    # draws the form.
    if root.get("/NeedsRendering") or ("/XFA" in form and not get_array(form, "/Fields")):
        yield "xfa-dynamic"


def _flags_of_object(item: pikepdf.Object) -> Iterator[str]:
    """Yield the flags of the dictionaries within one object."""
    if isinstance(item, pikepdf.Name):  # the kind of an action that refers to this object
        yield from _flag_of(KIND_FLAGS, item)
    waiting = [item]
    while waiting:
        each = waiting.pop()
        if isinstance(each, pikepdf.Array):
            waiting += [inner for inner in each if _is_direct(inner)]
        elif isinstance(each, pikepdf.Dictionary | pikepdf.Stream):
            yield from _flags_of_dictionary(each)
            waiting += [inner for inner in each.values() if _is_direct(inner)]


def _flags_of_dictionary(item: pikepdf.Dictionary | pikepdf.Stream) -> Iterator[str]:
    """Yield the flags of one dictionary, without those of dictionaries inside it."""
    kind = item.get("/S")
    is_harmless = kind == "/JavaScript" and is_harmless_script(item.get("/JS"))
    if not (is_harmless or _is_sibling_link(item)):
        yield from _flag_of(KIND_FLAGS, kind)
    yield from _flag_of(KIND_FLAGS, item.get("/Subtype"))
    for key, value in item.items():
        is_glyph = isinstance(value, pikepdf.Stream) and key in GLYPH_KEYS
        # The scripts in a tree of names are dictionaries of their own.
        is_tree = key == "/JavaScript" and isinstance(value, pikepdf.Dictionary)
        if not (is_glyph or is_tree or (is_harmless and key == "/JS")):
            yield from _flag_of(KEY_FLAGS, key)
        if key in ADDRESS_KEYS and _is_script_address(value):
            yield "javascript"
        if key in AUTOMATIC_KEYS and _opens_address(key, value):
            yield "remote"


def _opens_address(key: str, value: pikepdf.Object) -> bool:
    """Return whether an action that runs without a click opens a web address."""
    if key == "/AA" and isinstance(value, pikepdf.Dictionary):
        waiting = [action for trigger, action in value.items() if trigger not in CLICK_KEYS]
    else:
        waiting = [value]
    for _ in range(MAX_NEXT_ACTIONS):
        if not waiting:
            return False
        action = waiting.pop()
        if isinstance(action, pikepdf.Array):
            waiting += list(action)
        elif isinstance(action, pikepdf.Dictionary):
            if action.get("/S") == "/URI":
                return True
            waiting += [action[name] for name in ("/Next",) if name in action]
    return True  # so many actions are no document's


def _is_sibling_link(action: pikepdf.Object) -> bool:
    """Return whether an action opens a document beside the file, as converters write links.

    It names the document by a relative path and passes no parameters to a program.
    """
    kind, target = action.get("/S"), action.get("/F")
    if kind == "/Thread" and target is None:
        return True  # of the file itself
    if kind not in SIBLING_KINDS or any(key in action for key in ("/Win", "/Unix", "/Mac")):
        return False
    names = [target]
    if isinstance(target, pikepdf.Dictionary):
        keys = ("/F", "/UF", "/DOS", "/Unix", "/Mac", "/FS")
        names = [target[key] for key in keys if key in target]
    return bool(names) and all(map(_is_relative_document, names))


def _is_relative_document(name: object) -> bool:
    """Return whether a file name is the relative path of a document."""
    path = PureWindowsPath(str(name)) if isinstance(name, pikepdf.String) else PureWindowsPath()
    is_relative = str(path).isprintable() and not path.anchor and ":" not in str(path)
    return is_relative and path.suffix.casefold() in DOCUMENT_SUFFIXES


def _is_script_address(address: object) -> bool:
    """Return whether a viewer may run this address. Viewers ignore white space and case."""
    plain = re.sub(r"[\x00-\x20]", "", str(address)).casefold()
    is_script = isinstance(address, pikepdf.String) and plain.startswith(SCRIPT_SCHEMES)
    return is_script and _EMPTY_SCRIPT.fullmatch(plain) is None


def _flag_of(flags: Mapping[str, str], name: object) -> Iterator[str]:
    if (flag := flags.get(str(name))) is not None:
        yield flag


def _is_direct(item: object) -> bool:
    return isinstance(item, pikepdf.Object) and not item.is_indirect


def is_signed_field(field: pikepdf.Object) -> bool:
    """Return whether this is a signature field with a value. A field inherits its type."""
    return "/V" in field and any(each.get("/FT") == "/Sig" for each in iter_field_ancestry(field))


def iter_field_ancestry(field: pikepdf.Object) -> Iterator[pikepdf.Object]:
    """Yield a form field and its ancestors, the innermost first."""
    each: pikepdf.Object | None = field
    for _ in range(MAX_FIELD_DEPTH):
        if not isinstance(each, pikepdf.Dictionary):
            return
        yield each
        each = each.get("/Parent")


def iter_form_fields(opened: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Yield the fields of the form, and those that only a page refers to.

    Each indirect object is yielded once.
    """
    form = get_dictionary(opened.Root, "/AcroForm")
    on_pages = (each for page in opened.pages for each in get_array(page.obj, "/Annots"))
    waiting = [*get_array(form, "/Fields"), *on_pages]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < MAX_FIELDS:
        field = waiting.pop()
        if not isinstance(field, pikepdf.Dictionary) or field.objgen in seen:
            continue
        if field.objgen != DIRECT_OBJECT:
            seen.add(field.objgen)
        yield field
        waiting += get_array(field, "/Kids")


def get_dictionary(owner: pikepdf.Object, key: str) -> pikepdf.Object:
    """Return the dictionary under a key, or an empty one if there is none."""
    found = owner.get(key)
    return found if isinstance(found, pikepdf.Dictionary) else pikepdf.Dictionary()


def get_array(owner: pikepdf.Object, key: str) -> list[pikepdf.Object]:
    """Return the items of the array under a key, or an empty list if there is none."""
    found = owner.get(key)
    return list(found) if isinstance(found, pikepdf.Array) else []
