"""Defines which entries are exported, as plain text, so that jobs can store the selection."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """The filters of an export. All filters apply together; without any, the whole trail is meant.

    Entries name sites and no studies: an export of a study has to name its sites, too.
    """

    sites: Collection[str] = frozenset()
    study: str = ""  # shown to readers; `sites` select the entries
    doc_id: str = ""
    correlation_id: str = ""
    packet: str = ""  # shown to readers; `subjects` select the entries
    subjects: Collection[str] = frozenset()
    since: str = ""  # recorded then or later; as audit.ledger.log.write_time() writes it
    until: str = ""  # recorded before this time

    @property
    def is_whole(self) -> bool:
        """Return whether the selection contains all entries, because it has no filter."""
        return not self.filters

    @property
    def filters(self) -> dict[str, Any]:
        """Return the filters that are set, for the manifest and the ledger."""
        lists = {"sites": sorted(self.sites), "subjects": sorted(self.subjects)}
        given = asdict(self) | lists
        return {name: value for name, value in given.items() if value}

    def has(self, fields: Mapping[str, Any]) -> bool:
        """Return whether an entry with these fields is selected."""
        return (
            (not self.sites or fields["site"] in self.sites)
            and (not self.subjects or fields["subject"] in self.subjects)
            and self.doc_id in ("", fields["doc_id"])
            and self.correlation_id in ("", fields["correlation_id"])
            and self.since <= fields["recorded_at"]
            and (not self.until or fields["recorded_at"] < self.until)
        )
