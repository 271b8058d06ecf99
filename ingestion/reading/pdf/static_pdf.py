"""Whether a PDF's bytes alone show that it can do nothing but show pages.

Most can: then nobody has to walk through their objects (`active`). Whatever a PDF can do is named
in its dictionaries. Those stand in the file as they are, unless it keeps them compressed in object
streams, which takes a cross-reference stream; and each letter of a name may be written as #41.
"""

import re
from pathlib import Path

MAX_SCANNED_BYTES = 1_000_000  # bytes; reading through more of them costs as much as the walk

_TELLING = re.compile(
    # An address that a viewer may run as a script; plain ones of the web are in many files.
    rb"/(?:URI(?![\s\0]*(?:\((?:https?:|mailto:|tel:|www\.)|[/>]))"
    rb"|JavaScript|Launch|GoToE|GoToR|SubmitForm|ImportData|Rendition|RichMedia|OnInstantiate"
    rb"|EmbeddedFiles|AF|EF|FileAttachment|XFA|NeedsRendering|Sig|XRef|ObjStm"
    # The file that a stream's contents are in; a small number is what an annotation has there.
    rb"|F(?![^\s\0()<>\[\]{}/%])(?![\s\0]*\d+[\s\0]*[/>]))"
)
_ESCAPED = re.compile(rb"/[A-Za-z]*#[4-7][0-9A-Fa-f][A-Za-z0-9#]*")
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")


def is_static(path: Path) -> bool:
    """True for what surely has none of the flags. False also where only the walk can tell."""
    with path.open("rb") as file:
        content = file.read(MAX_SCANNED_BYTES + 1)
    if len(content) > MAX_SCANNED_BYTES or _TELLING.search(content):
        return False
    return not any(_TELLING.match(_plain(name[0])) for name in _ESCAPED.finditer(content))


def _plain(name: bytes) -> bytes:
    return _ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()), name)
