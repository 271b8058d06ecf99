"""Finds out whether a document was changed since its first entry, for printouts.

EU GMP Annex 11, 8.2, requires that printouts indicate such changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.export.trail import LedgerLine


@dataclass(slots=True)
class DocumentChanges:
    """The changes of one document, in all its versions. Add its entries in order."""

    entries: int = 0
    changed_by: list[int] = field(default_factory=list)
    _hashes: set[str] = field(default_factory=set)

    def add(self, line: LedgerLine, detail: Mapping[str, Any]) -> bool:
        """Return whether this entry changed a value or the bytes of the document."""
        self.entries += 1
        sha256 = line.fields["sha256"]
        has_new_bytes = bool(sha256 and self._hashes and sha256 not in self._hashes)
        if sha256:
            self._hashes.add(sha256)
        is_changed = has_new_bytes or bool(list_changes(detail))
        if is_changed:
            self.changed_by.append(line.seq)
        return is_changed

    def __str__(self) -> str:
        if not self.changed_by:
            return _("not changed")
        phrase = ngettext(
            "CHANGED by entry {entries}", "CHANGED by entries {entries}", len(self.changed_by)
        )
        return phrase.format(entries=", ".join(map(str, self.changed_by)))


def list_changes(detail: Mapping[str, Any]) -> list[str]:
    """Return the old and the new value of each changed field in the detail of an entry."""
    changes = detail.get("changes")
    if not isinstance(changes, dict):
        return []
    return [
        f"{name}: {value.get('old')} > {value.get('new')}"
        if isinstance(value, dict)
        else f"{name}: {value}"
        for name, value in changes.items()
    ]
