"""What of the anchors belongs to a ledger of so many entries: for its backup, and back from it.

A checkpoint that was signed later is left out: beside the older database it would look like one
that was cut off.
"""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from audit.files import durable
from audit.signing import keys
from audit.signing.places import folder
from audit.verification import checkpoint_verification


def anchor_files(entries: int) -> Iterator[tuple[str, str]]:
    """Names of files in ANCHOR_DIR, and their text. Raises NotTaken and KeyProblem."""
    held = folder.FolderAnchor(Path(settings.ANCHOR_DIR)).read_back(0)
    if notes := [
        each.note for each in held if checkpoint_verification.checkpoint_size(each.note) <= entries
    ]:
        yield folder.CHECKPOINTS_FILE, "".join(f"\n{note}" for note in notes)
    if known := [key for key in keys.published_keys() if key.first <= entries]:
        lines = (f"{key.verifier.text} {key.first} {key.since}\n" for key in known)
        yield keys.public_file().name, "".join(lines)


def restore_anchor_file(name: str, text: str) -> bool:
    """Unless there is such a file: what was anchored survived, and says more. False then."""
    path = Path(settings.ANCHOR_DIR) / name
    if path.exists():
        return False
    durable.append_durably(path, text)
    return True


def largest_anchored_elsewhere() -> tuple[int, str]:
    """The largest signed head that a place outside holds and the database has not; 0 for none.

    And why places could not be asked, or "". Raises CannotCheck.
    """
    found = checkpoint_verification.read_anchors()
    return max((claim.size for claim in found.claims), default=0), " ".join(found.errors)
