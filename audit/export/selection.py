"""What of the trail is exported. Plain text throughout, so that a job can be asked for it."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """All that is given applies together; nothing given is the whole trail.

    A trail knows sites, not studies: whoever asks for a study names its sites beside it.
    """

    sites: Collection[str] = frozenset()
    study: str = ""  # for the reader; `sites` decide
    doc_id: str = ""
    correlation_id: str = ""
    packet: str = ""  # for the reader; `subjects` decide
    subjects: Collection[str] = frozenset()
    since: str = ""  # recorded then or later; as audit.ledger.log.write_time() has times
    until: str = ""  # recorded before

    @property
    def is_whole(self) -> bool:
        return not self.filters

    @property
    def filters(self) -> dict[str, Any]:
        """What was given, for the manifest and the ledger."""
        lists = {"sites": sorted(self.sites), "subjects": sorted(self.subjects)}
        given = asdict(self) | lists
        return {name: value for name, value in given.items() if value}

    def has(self, fields: Mapping[str, Any]) -> bool:
        """Whether an entry with these fields belongs to it."""
        return (
            (not self.sites or fields["site"] in self.sites)
            and (not self.subjects or fields["subject"] in self.subjects)
            and self.doc_id in ("", fields["doc_id"])
            and self.correlation_id in ("", fields["correlation_id"])
            and self.since <= fields["recorded_at"]
            and (not self.until or fields["recorded_at"] < self.until)
        )
