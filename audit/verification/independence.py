"""Judges how far something outside this installation vouches for the ledger.

The rule, which docs/operations.md explains to users: a ledger is vouched for up to the newest
checkpoint that an independent place gave back in this very check, that a known key signed, and that
the entries arrive at. Receipts, earlier checks, time stamps and heads that were mailed or noted
never count: whoever may write to every file here can write them as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from audit.models import Checkpoint, Entry, Receipt
from audit.signing import anchors
from audit.signing.places.port import Anchor, AnchorError
from audit.signing.places.rfc3161 import TimestampAnchor
from audit.verification.checkpoint_verification import ReadBack
from audit.verification.tlog_policy import Policy

NO_INDEPENDENT_ANCHOR = (
    "No independent anchor vouches for the ledger. Set ANCHOR_S3_BUCKET to a bucket with Object "
    "Lock that other people administer (docs/operations.md, How strong a verification is)."
)
MAX_VERIFIED_TOKENS = 100  # receipts of time stamps that are verified, the newest first


@dataclass(frozen=True, slots=True)
class AnchorJudgement:
    """How far the ledger is vouched for, and why no further."""

    vouched_to: int = 0  # entries that an independent place vouches for
    vouched_by: tuple[str, ...] = ()  # the addresses of those places
    reasons: tuple[str, ...] = ()  # sentences: why the ledger stands by this installation's word
    notices: tuple[str, ...] = ()  # sentences about time stamps


@dataclass(slots=True)
class _Vouching:
    """What is found while the places are judged."""

    sizes: dict[str, int] = field(default_factory=dict)  # of places that vouch, by address
    errors: list[str] = field(default_factory=list)
    weaknesses: list[str] = field(default_factory=list)  # why places do not vouch


def judge_anchors(read: Mapping[str, ReadBack], policy: Policy | None = None) -> AnchorJudgement:
    """Judge what places gave back, by address. Database errors pass through.

    With a policy each place that it names has to vouch, by kind (`s3`) or by address.
    """
    if not Checkpoint.objects.exists():
        return AnchorJudgement(
            reasons=("No checkpoint is signed: nothing could vouch for the ledger.",)
        )
    found = _Vouching()
    places = anchors.configured_anchors()
    for place in places:
        _examine(place, read.get(place.address, ReadBack()), found)
    stamp, notices = _newest_stamp(places)
    reasons = list(found.errors)
    if not found.sizes:
        reasons += [NO_INDEPENDENT_ANCHOR, *found.weaknesses]
    for name in policy.places if policy else ():
        reasons += _lacks(name, places, found.sizes, stamp)
    vouched_to = _vouched_to(found.sizes, places, policy)
    if vouched_to and (late := _late_after(vouched_to)):
        reasons.append(late)
    vouched_by = tuple(address for address, size in found.sizes.items() if size >= vouched_to)
    return AnchorJudgement(vouched_to, vouched_by, tuple(reasons), notices)


def _examine(place: Anchor, read: ReadBack, found: _Vouching) -> None:
    """Enter its size if it vouches, and otherwise why it does not."""
    if read.error:
        found.errors.append(read.error)
    elif flaw := place.weakness() or read.flaw:
        found.weaknesses.append(flaw)
    elif read.newest:
        found.sizes[place.address] = read.newest
    else:
        found.weaknesses.append(f"{place.address} holds no checkpoint of this ledger.")


def _vouched_to(sizes: Mapping[str, int], places: Sequence[Anchor], policy: Policy | None) -> int:
    """What one place vouches for, or, with a policy, all of the places that it names."""
    names = policy.places if policy else ()
    required = {address for name in names for address in _matching(name, places)} & sizes.keys()
    if required:
        return min(sizes[address] for address in required)
    return max(sizes.values(), default=0)


def _matching(name: str, places: Sequence[Anchor]) -> list[str]:
    return [place.address for place in places if name in {place.name, place.address.rstrip("/")}]


def _lacks(
    name: str, places: Sequence[Anchor], sizes: Mapping[str, int], stamp: int
) -> Iterator[str]:
    """A sentence if what a policy requires is not there."""
    matching = _matching(name, places)
    if not matching:
        yield f"The policy requires the place {name}, which is not configured here."
    elif any(place.address in matching and not place.keeps_notes for place in places):
        if not stamp:
            yield f"The policy requires the place {name}; no time stamp of it verifies."
        elif late := _late_after(stamp):
            yield f"The policy requires the place {name}. {late}"
    elif not set(matching) & sizes.keys():
        yield f"The policy requires the place {name}, which does not vouch for the ledger."


def _late_after(size: int) -> str:
    """A sentence if entries after this one have waited for an anchor for too long."""
    later = Entry.objects.filter(seq__gt=size).order_by("seq").values_list("seq", "recorded_at")
    if (first := later.first()) is None:
        return ""
    seq, recorded_at = first
    if timezone.now() - recorded_at <= timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS):
        return ""
    return (
        f"Nothing outside vouches for entry {seq:,} and later ones, the first of them recorded at "
        f"{recorded_at:%Y-%m-%d %H:%M:%S} UTC. Run `manage.py checkpoint`."
    )


def _newest_stamp(places: Sequence[Anchor]) -> tuple[int, tuple[str, ...]]:
    """The size of the newest checkpoint with a token that verifies; and sentences about tokens."""
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
            refused = refused or (f"The receipt of {size:,} entries is passed over. {error}",)
            continue
        stamped = (
            f"Entries 1 to {size:,} existed at {at:%Y-%m-%d %H:%M:%S} UTC, by a time stamp that "
            "verifies against ANCHOR_TSA_CERTIFICATES."
        )
        return size, (stamped, *refused)
    return 0, refused
