"""Judges how far something outside this installation vouches for the ledger.

The rule, which docs/operations.md explains to users: a ledger is vouched for up to the newest
checkpoint that an independent anchor returned in this very check, that a known key signed, and that
the entries match. Receipts, earlier checks, time stamps and heads that were mailed or noted never
count: a person who can write to every file of the installation can write them as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from audit.models import Checkpoint, Entry, Receipt
from audit.signing import anchors
from audit.signing.places.port import Anchor, AnchorError
from audit.signing.places.rfc3161 import TimestampAnchor
from audit.verification.checkpoint_verification import AnchorReading
from audit.verification.tlog_policy import Policy

NO_INDEPENDENT_ANCHOR = gettext_noop(
    "No independent anchor vouches for the ledger. Set ANCHOR_S3_BUCKET to a bucket with Object "
    "Lock that other people administer (docs/operations.md, How strong a verification is)."
)
MAX_VERIFIED_TOKENS = 100  # receipts of time stamps that are verified, the newest first


@dataclass(frozen=True, slots=True)
class AnchorJudgement:
    """Up to which entry independent anchors vouch for the ledger, and why no further."""

    vouched_to: int = 0  # entries that an independent anchor vouches for
    vouched_by: tuple[str, ...] = ()  # the addresses of those anchors
    reasons: tuple[str, ...] = ()  # sentences: why no independent anchor vouches for it
    notices: tuple[str, ...] = ()  # sentences about time stamps


@dataclass(slots=True)
class _AnchorResults:
    """The results of the examined anchors."""

    sizes: dict[str, int] = field(default_factory=dict)  # of anchors that vouch, by address
    errors: list[str] = field(default_factory=list)
    weaknesses: list[str] = field(default_factory=list)  # why anchors do not vouch


def judge_anchors(
    read: Mapping[str, AnchorReading], policy: Policy | None = None
) -> AnchorJudgement:
    """Judge what anchors returned, by address. Database errors are not caught.

    With a policy, each place that it names, by kind (`s3`) or by address, has to vouch.
    """
    if not Checkpoint.objects.exists():
        reason = _("No checkpoint is signed yet, so no anchor can vouch for the ledger.")
        return AnchorJudgement(reasons=(reason,))
    found = _AnchorResults()
    places = anchors.list_configured_anchors()
    for place in places:
        _examine(place, read.get(place.address, AnchorReading()), found)
    stamp, notices = _newest_stamp(places)
    reasons = list(found.errors)
    if not found.sizes:
        reasons += [_(NO_INDEPENDENT_ANCHOR), *found.weaknesses]
    for name in policy.places if policy else ():
        reasons += _policy_reasons(name, places, found.sizes, stamp)
    vouched_to = _vouched_to(found.sizes, places, policy)
    if vouched_to and (overdue := _overdue_after(vouched_to)):
        reasons.append(overdue)
    vouched_by = tuple(address for address, size in found.sizes.items() if size >= vouched_to)
    return AnchorJudgement(vouched_to, vouched_by, tuple(reasons), notices)


def _examine(place: Anchor, reading: AnchorReading, found: _AnchorResults) -> None:
    """Add the size of the anchor to the results if it vouches, and otherwise the reason."""
    if reading.error:
        found.errors.append(reading.error)
    elif weakness := place.weakness() or reading.flaw:
        found.weaknesses.append(weakness)
    elif reading.newest:
        found.sizes[place.address] = reading.newest
    else:
        sentence = _("{address} holds no checkpoint of this ledger.")
        found.weaknesses.append(sentence.format(address=place.address))


def _vouched_to(sizes: Mapping[str, int], places: Sequence[Anchor], policy: Policy | None) -> int:
    """Return the last entry that one anchor vouches for, or all anchors of a policy."""
    names = policy.places if policy else ()
    required = {address for name in names for address in _matching(name, places)} & sizes.keys()
    if required:
        return min(sizes[address] for address in required)
    return max(sizes.values(), default=0)


def _matching(name: str, places: Sequence[Anchor]) -> list[str]:
    return [place.address for place in places if name in {place.name, place.address.rstrip("/")}]


def _policy_reasons(
    name: str, places: Sequence[Anchor], sizes: Mapping[str, int], stamp: int
) -> Iterator[str]:
    """Yield a sentence if a place that the policy requires does not vouch."""
    matching = _matching(name, places)
    if not matching:
        sentence = _("The policy requires the place {name}, which is not configured here.")
        yield sentence.format(name=name)
    elif any(place.address in matching and not place.keeps_notes for place in places):
        if not stamp:
            sentence = _("The policy requires the place {name}; none of its time stamps verifies.")
            yield sentence.format(name=name)
        elif overdue := _overdue_after(stamp):
            sentence = _("The policy requires the place {name}. {reason}")
            yield sentence.format(name=name, reason=overdue)
    elif not set(matching) & sizes.keys():
        sentence = _("The policy requires the place {name}, which does not vouch for the ledger.")
        yield sentence.format(name=name)


def _overdue_after(size: int) -> str:
    """Return a sentence if entries after this one have waited too long for an anchor, or ""."""
    later = Entry.objects.filter(seq__gt=size).order_by("seq").values_list("seq", "recorded_at")
    if (first := later.first()) is None:
        return ""
    seq, recorded_at = first
    if timezone.now() - recorded_at <= timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS):
        return ""
    return _(
        "No independent anchor vouches for entry {seq}, recorded at {time} UTC, or for later "
        "entries. Run `manage.py checkpoint`."
    ).format(seq=f"{seq:,}", time=f"{recorded_at:%Y-%m-%d %H:%M:%S}")


def _newest_stamp(places: Sequence[Anchor]) -> tuple[int, tuple[str, ...]]:
    """Return the size of the newest checkpoint with a valid time stamp, and notices about it."""
    authority = next((place for place in places if isinstance(place, TimestampAnchor)), None)
    if authority is None:
        return 0, ()
    receipts = Receipt.objects.filter(anchor=authority.name).order_by("-checkpoint_id", "-pk")
    tokens = receipts.values_list("checkpoint_id", "proof", "checkpoint__note")
    refused: tuple[str, ...] = ()
    for size, proof, note in tokens[:MAX_VERIFIED_TOKENS]:
        try:
            at = authority.stamped_at(proof, note)
        except AnchorError as error:
            sentence = ngettext(
                "The time stamp of {n} entry is ignored. {error}",
                "The time stamp of {n} entries is ignored. {error}",
                size,
            )
            refused = refused or (sentence.format(n=f"{size:,}", error=error),)
            continue
        stamped = _(
            "Entries 1 to {seq} existed at {time} UTC, according to a time stamp that "
            "ANCHOR_TSA_CERTIFICATES verify."
        )
        stamped = stamped.format(seq=f"{size:,}", time=f"{at:%Y-%m-%d %H:%M:%S}")
        return size, (stamped, *refused)
    return 0, refused
