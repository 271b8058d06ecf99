"""Backs up and restores the anchor files that belong to a ledger of a given number of entries.

Checkpoints that were signed later are left out: beside the older database they would look as if the
end of the ledger had been removed.
"""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from audit.files import durable
from audit.signing import keys
from audit.signing.places import folder
from audit.verification import checkpoint_verification


def iter_anchor_files(entries: int) -> Iterator[tuple[str, str]]:
    """Yield names of files in ANCHOR_DIR, and their text. Raises AnchorError and KeyProblem."""
    held = folder.FolderAnchor(Path(settings.ANCHOR_DIR)).read_back(0)
    if notes := [
        each.note
        for each in held
        if checkpoint_verification.parse_checkpoint_size(each.note) <= entries
    ]:
        yield folder.CHECKPOINTS_FILE, "".join(f"\n{note}" for note in notes)
    if known := [key for key in keys.read_published_keys() if key.first <= entries]:
        lines = (f"{key.verifier.text} {key.first} {key.since}\n" for key in known)
        yield keys.get_public_file().name, "".join(lines)


def restore_anchor_file(name: str, text: str) -> bool:
    """Write the file, and return whether it was written.

    An existing file is kept, because it survived and may contain more than the backup.
    """
    path = Path(settings.ANCHOR_DIR) / name
    if path.exists():
        return False
    durable.append_durably(path, text)
    return True


def find_largest_anchored_elsewhere() -> tuple[int, str]:
    """Return the size of the largest anchored checkpoint that the database lacks, 0 if none.

    The second value states which anchors could not be read, or is "". Raises CannotVerify.
    """
    found = checkpoint_verification.read_anchors()
    return max((claim.size for claim in found.claims), default=0), " ".join(found.errors)
