"""Reads the ledger as plain values, for timelines, pages and reconciliation.

Code outside of `audit` does not use the ledger's rows. A `Recorded` is read from the line itself,
and not from the columns that repeat it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, cast

import orjson
from django.db.models import Count, Max, Q, QuerySet

from audit.ledger.keyset import iter_pages
from audit.models import Entry

ROWS_PER_PAGE = 2_000  # rows that one query reads


@dataclass(frozen=True, slots=True)
class Recorded:
    """One entry. `detail` is None if there is none; `is_redacted` says whether there was one."""

    seq: int
    hash: str
    prev: str
    event_id: str
    event: str
    subject: str
    site: str
    doc_id: str
    sha256: str
    from_state: str
    to_state: str
    code: str
    correlation_id: str
    actor: str
    role: str
    reason_code: str
    occurred_at: datetime
    recorded_at: datetime
    software: str
    rules: str
    schema_version: str
    detail: Mapping[str, Any] | None
    is_redacted: bool


@dataclass(frozen=True, slots=True)
class LastState:
    """The last entry that changed the state of a subject."""

    seq: int
    state: str
    sha256: str


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """Criteria for entries, all of which apply. Without criteria it is the whole trail."""

    sites: Collection[str] = ()
    subjects: Collection[str] = ()
    doc_id: str = ""
    actor: str = ""
    event: str = ""
    since: datetime | None = None  # recorded at this time or later
    until: datetime | None = None  # recorded before this time

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = EntrySearch()

# Fields of the line that have the same name and type in `Recorded`.
_COMMON_FIELDS = [
    "seq", "prev", "event_id", "event", "subject", "site", "doc_id", "sha256", "code",
    "correlation_id", "actor", "role", "reason_code", "software", "rules", "schema_version",
]  # fmt: skip


def list_entries(*subjects: str) -> list[Recorded]:
    """Return all entries of these subjects, oldest first."""
    return _recorded(Entry.objects.filter(subject__in=subjects).order_by("seq"))


def list_entries_of_events(events: Collection[str], subjects: Collection[str]) -> list[Recorded]:
    """Return the entries of these events about these subjects, oldest first."""
    rows = Entry.objects.filter(event__in=events, subject__in=subjects)
    return _recorded(rows.order_by("seq"))


def list_entries_by_event_ids(event_ids: Collection[str]) -> list[Recorded]:
    """Return the entries with these IDs of `chain.compute_event_id(subject, n)`, oldest first."""
    return _recorded(Entry.objects.filter(event_id__in=event_ids).order_by("seq"))


def list_entries_with_detail(subjects: Collection[str], key: str) -> list[Recorded]:
    """Return the entries of these subjects whose detail has this key, oldest first."""
    rows = Entry.objects.filter(subject__in=subjects, detail__detail__contains=f'"{key}":')
    return [each for each in _recorded(rows.order_by("seq")) if key in (each.detail or {})]


def list_entries_after(events: Collection[str], seq: int, limit: int) -> list[Recorded]:
    """Return at most `limit` entries of these events after entry `seq`, oldest first."""
    rows = Entry.objects.filter(event__in=events, seq__gt=seq).order_by("seq")
    return _recorded(rows[:limit])


def iter_entries_of_events(events: Collection[str]) -> Iterator[Recorded]:
    """Yield all entries of these events, oldest first. They are read page by page."""
    seq = 0
    while page := list_entries_after(events, seq, ROWS_PER_PAGE):
        yield from page
        seq = page[-1].seq


def iter_subjects_of_events(events: Collection[str]) -> Iterator[str]:
    """Yield each subject that has an entry of one of these events, once, in no order."""
    found = Entry.objects.filter(event__in=events).order_by()
    return found.values_list("subject", flat=True).distinct().iterator(ROWS_PER_PAGE)


def list_document_entries(site: str, doc_id: str) -> list[Recorded]:
    """Return the entries of all versions of a document, oldest first.

    A document is identified by its site and its `doc_id`.
    """
    return _recorded(Entry.objects.filter(site=site, doc_id=doc_id).order_by("seq"))


def find_entries(
    search: EntrySearch = EVERYTHING, *, before: int | None = None, limit: int = 200
) -> list[Recorded]:
    """Return at most `limit` entries, newest first.

    For the next page, pass the number of the last entry as `before`.
    """
    entries = _matching(search).order_by("-seq")
    return _recorded((entries if before is None else entries.filter(seq__lt=before))[:limit])


def count_entries(search: EntrySearch) -> int:
    """Return the number of entries that match."""
    return _matching(search).count()


def get_first_recorded_at() -> datetime | None:
    """Return the time of the first entry, or None while the trail is empty."""
    return Entry.objects.order_by("seq").values_list("recorded_at", flat=True).first()


def get_last_recorded_at() -> datetime | None:
    """Return the time of the last entry, or None while the trail is empty."""
    return Entry.objects.order_by("-seq").values_list("recorded_at", flat=True).first()


def find_last_recorded(subjects: Collection[str]) -> dict[str, datetime]:
    """Return the time of the last entry of each of these subjects that has any."""
    rows = Entry.objects.filter(subject__in=subjects).order_by().values_list("subject")
    return dict(rows.annotate(Max("recorded_at")))


def has_entry(subject: str, event: str, actor: str, *, since: datetime) -> bool:
    """Return whether this actor caused this event of the subject at `since` or later."""
    entries = Entry.objects.filter(subject=subject, event=event, actor=actor)
    return entries.filter(recorded_at__gte=since).exists()


def count_by_subject(subjects: Collection[str]) -> dict[str, int]:
    """Return the number of entries of each of these subjects that has any."""
    rows = Entry.objects.filter(subject__in=subjects).order_by().values_list("subject")
    return dict(rows.annotate(Count("seq")))


def get_last_entry() -> tuple[int, str] | None:
    """Return number and hash of the last entry, or None while the trail is empty."""
    return Entry.objects.order_by("-seq").values_list("seq", "hash").first()


def list_sites_after(seq: int) -> set[str]:
    """Return the sites that have an entry after entry `seq`."""
    later = Entry.objects.filter(seq__gt=seq).exclude(site="").order_by()
    return set(later.values_list("site", flat=True).distinct())


def iter_subjects(prefix: str, *, since: int = 0) -> Iterator[str]:
    """Yield the subjects with this prefix that got a state after entry `since`, in no order.

    Without `since`, each subject comes once. Otherwise it comes once for each new state.
    """
    if since == 0:
        changes = _state_changes(Q(subject__startswith=prefix))
        return changes.values_list("subject", flat=True).distinct().iterator(ROWS_PER_PAGE)
    # A query for subjects would read the whole index on both databases. In the order of entries,
    # they begin with the first new one.
    new_states = _state_changes(Q()).values_list("seq", "subject")
    new = iter_pages(new_states, "seq", since, ROWS_PER_PAGE)
    return (subject for _, subject in chain.from_iterable(new) if subject.startswith(prefix))


def get_last_states(subjects: Sequence[str]) -> dict[str, LastState]:
    """Return the last state of each of these subjects that has one."""
    last = _state_changes(Q(subject__in=subjects)).values("subject").annotate(last=Max("seq"))
    rows = Entry.objects.filter(seq__in=last.values("last")).order_by()
    found = rows.values_list("subject", "seq", "to_state", "body")
    return {
        subject: LastState(seq, state, orjson.loads(body)["sha256"])
        for subject, seq, state, body in found
    }


def _matching(search: EntrySearch) -> "QuerySet[Entry]":
    criteria: dict[str, Any] = {
        "site__in": search.sites,
        "subject__in": search.subjects,
        "doc_id": search.doc_id,
        "actor": search.actor,
        "event": search.event,
        "recorded_at__gte": search.since,
        "recorded_at__lt": search.until,
    }
    return Entry.objects.filter(**{name: value for name, value in criteria.items() if value})


def _state_changes(which: Q) -> "QuerySet[Entry]":
    """Return the entries that state a new state. A view of a document, for example, does not."""
    return Entry.objects.filter(which).exclude(to_state="").order_by()


def _recorded(entries: "QuerySet[Entry]") -> list[Recorded]:
    """Read the lines of these entries, and their details."""
    rows = entries.values_list("hash", "body", "detail__detail")
    found = []
    # The type of the query does not know that an entry may have no detail.
    for hash_, body, detail in cast("Iterable[tuple[str, str, str | None]]", rows):
        fields = orjson.loads(body)
        recorded = Recorded(
            hash=hash_,
            from_state=fields["from"],
            to_state=fields["to"],
            occurred_at=datetime.fromisoformat(fields["occurred_at"]),
            recorded_at=datetime.fromisoformat(fields["recorded_at"]),
            detail=orjson.loads(detail) if detail is not None else None,
            is_redacted=detail is None and fields["detail_commit"] != "",
            **{name: fields[name] for name in _COMMON_FIELDS},
        )
        found.append(recorded)
    return found
