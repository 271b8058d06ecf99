"""Whether a document was changed since it was first entered: for printouts (Annex 11, 8.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.export.trail import LedgerLine

CHANGED = "CHANGED"  # the mark of an entry that changed what was first entered


@dataclass(slots=True)
class DocumentChanges:
    """What became of one document, in all its versions; its entries are to be seen in order."""

    entries: int = 0
    changed_by: list[int] = field(default_factory=list)
    _hashes: set[str] = field(default_factory=set)

    def see(self, line: LedgerLine, detail: Mapping[str, Any]) -> bool:
        """Whether this entry changed it: a value of it, or it came with other bytes."""
        self.entries += 1
        sha256 = line.fields["sha256"]
        is_other = bool(sha256 and self._hashes and sha256 not in self._hashes)
        if sha256:
            self._hashes.add(sha256)
        is_changed = is_other or bool(list_changes(detail))
        if is_changed:
            self.changed_by.append(line.seq)
        return is_changed

    def __str__(self) -> str:
        if not self.changed_by:
            return "not changed"
        return f"{CHANGED} by entry {', '.join(map(str, self.changed_by))}"


def list_changes(detail: Mapping[str, Any]) -> list[str]:
    """The old and the new value of each field that an entry's detail says was changed."""
    changes = detail.get("changes")
    if not isinstance(changes, dict):
        return []
    return [
        f"{name}: {value.get('old')} > {value.get('new')}"
        if isinstance(value, dict)
        else f"{name}: {value}"
        for name, value in changes.items()
    ]
