"""Proves from the bytes of a PDF alone that it can do nothing but show pages.

Most files pass, and then their objects need not be searched (`active_content`). Everything that a
PDF can do is named in its dictionaries. These are stored in plain, unless they are compressed in
object streams, which requires a cross-reference stream. Each character of a name may also be
written as an escape, such as #41.
"""

import re
from pathlib import Path

MAX_SCANNED_BYTES = 1_000_000  # a scan of more bytes costs as much as a search of the objects

_ACTIVE_NAME = re.compile(
    # An address that a viewer may run as a script. Plain web addresses are in many files.
    rb"/(?:URI(?![\s\0]*(?:\((?:https?:|mailto:|tel:|www\.)|[/>]))"
    rb"|JavaScript|Launch|GoToE|GoToR|Thread|SubmitForm|ImportData|Rendition|RichMedia|OnInstantiate"
    rb"|EmbeddedFiles|AF|EF|FileAttachment|XFA|NeedsRendering|Sig|XRef|ObjStm"
    # The file with a stream's contents. In an annotation, the same key has a small number.
    rb"|F(?![^\s\0()<>\[\]{}/%])(?![\s\0]*\d+[\s\0]*[/>]))"
)
# An action that may run without a click. An array is a place in the file, and no action.
_AUTOMATIC_ACTION = re.compile(rb"/(?:OpenAction(?![\s\0]*\[)|AA(?![^\s\0()<>\[\]{}/%]))")
_ANY_ADDRESS_NAMES = {b"/URI", b"/OpenAction", b"/AA"}
_ESCAPED_NAME = re.compile(rb"/[A-Za-z]*#[4-7][0-9A-Fa-f][A-Za-z0-9#]*")
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")


def is_static(path: Path) -> bool:
    """Return whether a PDF certainly has no active content, attachment, signature or XFA form.

    Return False even for a static file if only a search of its objects could show it.
    """
    with path.open("rb") as file:
        content = file.read(MAX_SCANNED_BYTES + 1)
    if len(content) > MAX_SCANNED_BYTES or _ACTIVE_NAME.search(content):
        return False
    if b"/URI" in content and _AUTOMATIC_ACTION.search(content):
        return False  # the action may open a web address
    names = [
        _ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()), name[0])
        for name in _ESCAPED_NAME.finditer(content)
    ]
    return not any(_ACTIVE_NAME.match(name) or name in _ANY_ADDRESS_NAMES for name in names)
