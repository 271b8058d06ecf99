"""What the ledger says, as plain values: for timelines, pages and reconciliation.

Nobody outside `audit` sees its rows. A Recorded is read from the line itself,
never from the columns beside it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import orjson
from django.db.models import Count, Max, Q, QuerySet

from audit.ledger.keyset import iter_pages
from audit.models import Entry

ROWS_PER_PAGE = 2_000  # rows that are asked for at a time


@dataclass(frozen=True, slots=True)
class Recorded:
    """One entry. `detail` is None where there is none, or none any more: then it is redacted."""

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
    """The last entry that moved a subject."""

    seq: int
    state: str
    sha256: str


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """What is looked for. All that is given applies together; nothing given is the whole trail."""

    sites: Collection[str] = ()
    subjects: Collection[str] = ()
    doc_id: str = ""
    actor: str = ""
    event: str = ""
    since: datetime | None = None  # recorded then or later
    until: datetime | None = None  # recorded before

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = EntrySearch()

_SAME = [
    "seq", "prev", "event_id", "event", "subject", "site", "doc_id", "sha256", "code",
    "correlation_id", "actor", "role", "reason_code", "software", "rules", "schema_version",
]  # fmt: skip


def timeline(*subjects: str) -> list[Recorded]:
    """All that is on record of these subjects, oldest first."""
    return _recorded(Entry.objects.filter(subject__in=subjects).order_by("seq"))


def entries_of_events(events: Collection[str], subjects: Collection[str]) -> list[Recorded]:
    """What happened of these kinds to these subjects, oldest first."""
    rows = Entry.objects.filter(event__in=events, subject__in=subjects)
    return _recorded(rows.order_by("seq"))


def entries_by_event_ids(event_ids: Collection[str]) -> list[Recorded]:
    """The entries of these transitions, each `chain.event_id(subject, n)`, oldest first."""
    return _recorded(Entry.objects.filter(event_id__in=event_ids).order_by("seq"))


def entries_with_detail(subjects: Collection[str], key: str) -> list[Recorded]:
    """Entries of these subjects whose detail has this key, oldest first."""
    rows = Entry.objects.filter(subject__in=subjects, detail__detail__contains=f'"{key}":')
    return [each for each in _recorded(rows.order_by("seq")) if key in (each.detail or {})]


def entries_after(events: Collection[str], seq: int, limit: int) -> list[Recorded]:
    """The next entries of these events after entry `seq`, at most `limit`, oldest first."""
    rows = Entry.objects.filter(event__in=events, seq__gt=seq).order_by("seq")
    return _recorded(rows[:limit])


def iter_subjects_of_events(events: Collection[str]) -> Iterator[str]:
    """Every subject that has an entry of one of these events, once, streaming, in no order."""
    found = Entry.objects.filter(event__in=events).order_by()
    return found.values_list("subject", flat=True).distinct().iterator(ROWS_PER_PAGE)


def document_entries(site: str, doc_id: str) -> list[Recorded]:
    """All versions of one document (its identity is the pair), oldest first."""
    return _recorded(Entry.objects.filter(site=site, doc_id=doc_id).order_by("seq"))


def find_entries(
    search: EntrySearch = EVERYTHING, *, before: int | None = None, limit: int = 200
) -> list[Recorded]:
    """What fits, newest first, a page at a time: the next is `before` the last seq seen."""
    return _recorded(_page(_fitting(search), before)[:limit])


def count_entries(search: EntrySearch) -> int:
    return _fitting(search).count()


def first_recorded_at() -> datetime | None:
    """When the trail begins; None while it is empty."""
    return Entry.objects.order_by("seq").values_list("recorded_at", flat=True).first()


def has_entry(subject: str, event: str, actor: str, *, since: datetime) -> bool:
    """Whether this is on record of the subject, by this actor, not before `since`."""
    entries = Entry.objects.filter(subject=subject, event=event, actor=actor)
    return entries.filter(recorded_at__gte=since).exists()


def count_by_subject(subjects: Collection[str]) -> dict[str, int]:
    """Return the number of entries of each of these subjects that has any."""
    rows = Entry.objects.filter(subject__in=subjects).order_by().values_list("subject")
    return dict(rows.annotate(Count("seq")))


def last_entry() -> tuple[int, str] | None:
    """Number and hash of the last entry; None before the first."""
    return Entry.objects.order_by("-seq").values_list("seq", "hash").first()


def sites_after(seq: int) -> set[str]:
    """Sites of which anything was entered after entry `seq`."""
    later = Entry.objects.filter(seq__gt=seq).exclude(site="").order_by()
    return set(later.values_list("site", flat=True).distinct())


def iter_subjects(prefix: str, *, since: int = 0) -> Iterator[str]:
    """Every subject that begins so and had a state after entry `since`, streaming, in no order.

    Of all, each once; after an entry, once for each new state.
    """
    if since == 0:
        moves = _moves(Q(subject__startswith=prefix))
        return moves.values_list("subject", flat=True).distinct().iterator(ROWS_PER_PAGE)
    # Asked for subjects, both databases look through all there are. In the order of entries they
    # begin with the first new one.
    new = iter_pages(_moves(Q()).values_list("seq", "subject"), "seq", since, ROWS_PER_PAGE)
    return (subject for _, subject in chain.from_iterable(new) if subject.startswith(prefix))


def last_states(subjects: Sequence[str]) -> dict[str, LastState]:
    """What state each of these subjects came to last; those without an entry are left out."""
    last = _moves(Q(subject__in=subjects)).values("subject").annotate(last=Max("seq"))
    rows = Entry.objects.filter(seq__in=last.values("last")).order_by()
    found = rows.values_list("subject", "seq", "to_state", "body")
    return {
        subject: LastState(seq, state, orjson.loads(body)["sha256"])
        for subject, seq, state, body in found
    }


def _fitting(search: EntrySearch) -> "QuerySet[Entry]":
    wanted: dict[str, Any] = {
        "site__in": search.sites,
        "subject__in": search.subjects,
        "doc_id": search.doc_id,
        "actor": search.actor,
        "event": search.event,
        "recorded_at__gte": search.since,
        "recorded_at__lt": search.until,
    }
    return Entry.objects.filter(**{name: value for name, value in wanted.items() if value})


def _moves(which: Q) -> "QuerySet[Entry]":
    # A look at a document is an entry too, but only one with `to` says what state it is in.
    return Entry.objects.filter(which).exclude(to_state="").order_by()


def _page(entries: "QuerySet[Entry]", before: int | None) -> "QuerySet[Entry]":
    return (entries if before is None else entries.filter(seq__lt=before)).order_by("-seq")


def _recorded(entries: "QuerySet[Entry]") -> list[Recorded]:
    rows: Iterable[tuple[str, str, str | None]]
    rows = entries.values_list("hash", "body", "detail__detail")
    return [_from_line(*row) for row in rows]


def _from_line(hash_: str, body: str, detail: str | None) -> Recorded:
    fields = orjson.loads(body)
    return Recorded(
        hash=hash_,
        from_state=fields["from"],
        to_state=fields["to"],
        occurred_at=datetime.fromisoformat(fields["occurred_at"]),
        recorded_at=datetime.fromisoformat(fields["recorded_at"]),
        detail=orjson.loads(detail) if detail is not None else None,
        is_redacted=detail is None and fields["detail_commit"] != "",
        **{name: fields[name] for name in _SAME},
    )
