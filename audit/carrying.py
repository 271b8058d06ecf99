"""What of the anchors belongs to a ledger of so many entries: for its backup, and back from it.

A checkpoint that was signed later is left out: beside the older database it would look like one
that was cut off.
"""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from audit import folders, heads, keys
from audit.places.folder import Folder

_NOTES = "checkpoints.log"  # as `Folder` calls it


def public_part(entries: int) -> Iterator[tuple[str, str]]:
    """Names of files in ANCHOR_DIR, and their text. Raises NotTaken."""
    held = Folder(Path(settings.ANCHOR_DIR)).read_back(0)
    if notes := [each.note for each in held if heads.size_of(each.note) <= entries]:
        yield _NOTES, "".join(f"\n{note}" for note in notes)
    public = keys.public_file()
    lines = public.read_text(encoding="utf-8").splitlines(keepends=True) if public.exists() else []
    if known := [line for line in lines if int(line.split(" ")[1]) <= entries]:
        yield public.name, "".join(known)


def bring_back(name: str, text: str) -> bool:
    """Unless there is such a file: what was anchored survived, and says more. False then."""
    path = Path(settings.ANCHOR_DIR) / name
    if path.exists():
        return False
    folders.append(path, text)
    return True


def known_elsewhere() -> int:
    """Of how many entries a place outside holds a signed head that the database has not; or 0.

    Raises CannotCheck.
    """
    found = heads.elsewhere()
    if found.unreachable:
        raise heads.CannotCheck(found.unreachable)
    return max((claim.size for claim in found.claims), default=0)
