"""Compares the trail with signed checkpoints, in the database and in write-once places.

A checkpoint states how many entries the trail had, and the root of the tree over them. A person who
can write to the tables can create another valid chain. A signed checkpoint that is kept elsewhere
reveals that the chain was replaced, or that its end was removed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from operator import attrgetter

from django.db.models import Max
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.job_runs import ExplainedFailure
from audit.ledger.chain import BrokenChain, ChainBreak
from audit.ledger.keyset import iter_pages
from audit.ledger.merkle_tree import Frontier, hash_leaf
from audit.models import Checkpoint, Receipt
from audit.signing import anchors, keys
from audit.signing.places.port import Anchor, AnchoredNote
from audit.signing.signed_note import (
    BadNote,
    CheckpointText,
    Verifier,
    open_note,
)

NOTES_PER_PAGE = 500  # notes that are compared with the database at a time
MAX_CLAIMS = 1_000  # kept of notes that the database lacks or contradicts


class CannotVerify(ExplainedFailure):
    """Something outside the database that a check needs is missing, so there is no verdict."""


@dataclass(frozen=True, slots=True)
class CheckpointClaim:
    """The claim of a checkpoint that the trail had this root when it had `size` entries."""

    size: int
    root: bytes | None  # None: no trusted key signed it
    source: str  # names the checkpoint in messages
    fault: str = ""  # a sentence: why it is not trusted
    stored: tuple[str, str, str] | None = None  # head, root and frontier in its row


class ClaimChecker:
    """Builds the tree over the entries, and compares it with the claims, in order of size."""

    __slots__ = ("_claims", "_next", "_tree", "next_size", "verified_to")

    def __init__(self, tree: Frontier, claims: Iterable[CheckpointClaim]) -> None:
        self._tree = tree
        self._claims = iter(claims)
        self.verified_to = tree.size  # entries up to this one are those that were signed
        self._advance()

    def _advance(self) -> None:
        self._next = next(self._claims, None)
        # The size at which `compare` has to be called, 0 for none.
        self.next_size = self._next.size if self._next else 0

    def add(self, lines: Iterable[str]) -> None:
        """Add the lines of the next entries to the tree."""
        self._tree.extend(map(hash_leaf, lines))

    def compare(self, head: str) -> Iterator[str]:
        """Yield a sentence for each faulty claim of the current size.

        Raises BrokenChain if the root differs from a claim.
        """
        root, verified_to = self._tree.root(), self.verified_to
        while (claim := self._next) and claim.size == self._tree.size:
            if claim.fault:
                yield claim.fault
            if claim.root is not None:
                if claim.root != root:
                    why = _(
                        "one of the entries {first} to {last} was rewritten after signing; "
                        "{source} has another root"
                    ).format(
                        first=f"{self.verified_to + 1:,}",
                        last=f"{claim.size:,}",
                        source=claim.source,
                    )
                    raise BrokenChain(
                        ChainBreak(self.verified_to + 1, why, claim.root.hex(), root.hex())
                    )
                verified_to = claim.size
            if claim.stored and claim.stored != (head, root.hex(), self._tree.hex()):
                sentence = _("The row of {source} was changed: it differs from its note.")
                yield sentence.format(source=claim.source)
            self._advance()
        # Set after the loop, because another note of the same size may contradict the first.
        self.verified_to = verified_to

    def finish(self) -> Iterator[str]:
        """Yield a sentence for each faulty claim of more entries than the trail has.

        Raises BrokenChain if a trusted key signed such a claim.
        """
        beyond = None
        while claim := self._next:
            if claim.fault:
                yield claim.fault
            beyond = claim if claim.root is not None else beyond
            self._advance()
        if beyond:
            size = self._tree.size
            why = _("the end of the trail was removed: {source} covers more entries")
            why = why.format(source=beyond.source)
            counts = (
                ngettext("{n} entry", "{n} entries", n).format(n=f"{n:,}")
                for n in (beyond.size, size)
            )
            raise BrokenChain(ChainBreak(size + 1, why, *counts))


@dataclass(slots=True)
class AnchorReading:
    """Contains the answer of one anchor in this check."""

    largest: int = 0  # the size of its largest note
    newest: int = 0  # the size of its largest checkpoint that matches the database
    flaw: str = ""  # why that note could be replaced there; "" if it cannot be
    error: str = ""  # why the anchor could not be read


@dataclass(slots=True)
class AnchoredNotes:
    """The notes of all anchors, compared with the database."""

    read: dict[str, AnchorReading] = field(default_factory=dict)  # by the address of the anchor
    claims: list[CheckpointClaim] = field(
        default_factory=list
    )  # of notes that the database lacks or contradicts
    problems: list[str] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """Return the size of the largest checkpoint that the database and an anchor both have."""
        return max((each.newest for each in self.read.values()), default=0)

    @property
    def errors(self) -> list[str]:
        """Return a sentence for each anchor that could not be read."""
        return [each.error for each in self.read.values() if each.error]

    @property
    def consistent_to(self) -> int | None:
        """Return the size below every signed note that the database lacks; None if it has all."""
        return min(claim.size for claim in self.claims) - 1 if self.claims else None


def read_anchors(after: int = 0, verifiers: Sequence[Verifier] | None = None) -> AnchoredNotes:
    """Read back the anchored notes of more than `after` entries, and compare them.

    Without `verifiers`, the published keys of this installation are trusted. Notes are read in
    pages, so that memory use does not grow. Raises CannotVerify if the keys cannot be read.
    """
    found = AnchoredNotes()
    verifiers = _verifiers() if verifiers is None else verifiers
    for place in anchors.list_configured_anchors():
        read = found.read[place.address] = AnchorReading()
        for page in _read_pages(place, after, read):
            _compare(page, verifiers, read, found)
    largest = max((each.largest for each in found.read.values()), default=0)
    if not found.errors and (put := find_largest_receipt()) > largest:
        missing = ngettext(
            "The checkpoint of {n} entry was stored in a write-once place and is missing there.",
            "The checkpoint of {n} entries was stored in a write-once place and is missing there.",
            put,
        ).format(n=f"{put:,}")
        remaining = ngettext(
            "The largest checkpoint that was found there covers {n} entry.",
            "The largest checkpoint that was found there covers {n} entries.",
            largest,
        ).format(n=f"{largest:,}")
        found.problems.append(f"{missing} {remaining}")
    return found


def _read_pages(place: Anchor, after: int, read: AnchorReading) -> Iterator[Sequence[AnchoredNote]]:
    """Yield the notes of an anchor in pages. An error of the anchor is added to `read`."""
    try:
        notes = iter(place.read_back(after))
        while page := list(islice(notes, NOTES_PER_PAGE)):
            yield page
    except Exception as error:  # noqa: BLE001 - no error of a client library is a finding
        sentence = _("The anchor {address} could not be read: {error}")
        read.error = sentence.format(address=place.address, error=error)


def find_largest_receipt(last_seq: int | None = None) -> int:
    """Return the size of the largest checkpoint with a receipt of an anchor that keeps notes."""
    keeping = [place.name for place in anchors.list_configured_anchors() if place.keeps_notes]
    receipts = Receipt.objects.filter(anchor__in=keeping)
    receipts = receipts if last_seq is None else receipts.filter(checkpoint__lte=last_seq)
    return receipts.aggregate(Max("checkpoint_id"))["checkpoint_id__max"] or 0


def _compare(
    page: Sequence[AnchoredNote],
    verifiers: Sequence[Verifier],
    read: AnchorReading,
    found: AnchoredNotes,
) -> None:
    """Compare a page of anchored notes with the database, and add the result to `found`."""
    sizes = [parse_checkpoint_size(held.note) for held in page]
    read.largest = max(read.largest, *sizes)
    rows = Checkpoint.objects.filter(size__in=set(sizes)).values_list("size", "note", "root")
    stored = {size: (note, root) for size, note, root in rows}
    for (place, note, flaw), size in zip(page, sizes, strict=True):
        row_note, root = stored.get(size, ("", ""))
        source = _("the note in {place}").format(place=place)
        claim = None if note == row_note else read_claim(note, source, verifiers)
        if claim is None or (claim.root is not None and claim.root.hex() == root):
            # Of two copies of the same checkpoint, one that cannot be replaced there counts.
            if (size, not flaw) > (read.newest, not read.flaw):
                read.newest, read.flaw = size, flaw
        elif len(found.problems) < MAX_CLAIMS:
            found.claims += [claim] if claim.root is not None else []
            found.problems.append(
                claim.fault or _describe_difference(claim, is_size_stored=bool(row_note))
            )


def _describe_difference(claim: CheckpointClaim, *, is_size_stored: bool) -> str:
    """Return a sentence about a signed checkpoint that the database lacks or contradicts."""
    if is_size_stored:
        sentence = ngettext(
            "{source} is a signed checkpoint of {n} entry; the database has another one.",
            "{source} is a signed checkpoint of {n} entries; the database has another one.",
            claim.size,
        )
    else:
        sentence = ngettext(
            "{source} is a signed checkpoint of {n} entry; the database does not have it.",
            "{source} is a signed checkpoint of {n} entries; the database does not have it.",
            claim.size,
        )
    return capfirst(sentence.format(source=claim.source, n=f"{claim.size:,}"))


def parse_checkpoint_size(note: str) -> int:
    """Return the size that a note names, without verifying it; 0 if it is not a checkpoint."""
    try:
        return CheckpointText.parse(note.partition("\n\n")[0] + "\n").size
    except BadNote:
        return 0


def read_claim(note: str, source: str, verifiers: Sequence[Verifier]) -> CheckpointClaim:
    """Return the claim of a note. Without a signature by a trusted key, its root is None."""
    try:
        text, signers = open_note(note, verifiers)
        head = CheckpointText.parse(text)
    except BadNote as error:
        fault = _("{source} cannot be trusted: {error}.").format(source=source, error=error)
        return CheckpointClaim(parse_checkpoint_size(note), None, source, capfirst(fault))
    if any(signer.name != head.origin for signer in signers):
        fault = _("{source} cannot be trusted: it belongs to another trail, {origin}.")
        fault = fault.format(source=source, origin=head.origin)
        return CheckpointClaim(head.size, None, source, capfirst(fault))
    return CheckpointClaim(head.size, head.root, source)


def iter_claims(
    after: int,
    last_seq: int | None,
    more: Sequence[CheckpointClaim],
    verifiers: Sequence[Verifier] | None = None,
) -> Iterator[CheckpointClaim]:
    """Yield the claims of stored checkpoints and of `more` with sizes in (after, last_seq].

    They are sorted by size. Without `verifiers`, the published keys are trusted.
    """
    others = [
        claim
        for claim in more
        if after < claim.size and (last_seq is None or claim.size <= last_seq)
    ]
    by_size = attrgetter("size")
    return merge(_stored(after, last_seq, verifiers), sorted(others, key=by_size), key=by_size)


def _verifiers() -> list[Verifier]:
    """Return the published keys. Raises CannotVerify if they cannot be read."""
    try:
        return keys.read_verifiers()
    except Exception as error:
        message = _("The public keys of the audit trail cannot be read. {error}")
        raise CannotVerify(message.format(error=error)) from error


def find_largest_checkpoint() -> int:
    """Return the size of the largest stored checkpoint.

    Call this before entries are read, because more checkpoints may be signed meanwhile.
    """
    return Checkpoint.objects.aggregate(Max("size"))["size__max"] or 0


def _stored(
    after: int, last_seq: int | None, verifiers: Sequence[Verifier] | None
) -> Iterator[CheckpointClaim]:
    verifiers = _verifiers() if verifiers is None else verifiers
    rows = Checkpoint.objects.filter(
        size__lte=find_largest_checkpoint() if last_seq is None else last_seq
    )
    columns = rows.values_list("size", "note", "head", "root", "frontier")
    for size, note, *copies in chain.from_iterable(
        iter_pages(columns, "size", after, NOTES_PER_PAGE)
    ):
        source = ngettext(
            "the checkpoint of {n} entry in the database",
            "the checkpoint of {n} entries in the database",
            size,
        ).format(n=f"{size:,}")
        claim = read_claim(note, source, verifiers)
        fault = claim.fault
        if claim.root is not None and claim.size != size:
            fault = ngettext(
                "The note of {source} covers {n} entry.",
                "The note of {source} covers {n} entries.",
                claim.size,
            ).format(source=source, n=f"{claim.size:,}")
        yield CheckpointClaim(size, None if fault else claim.root, source, fault, tuple(copies))


def find_trusted_start(last_seq: int) -> tuple[int, str, Frontier] | None:
    """Return size, head and tree of the largest checkpoint of at most `last_seq` entries.

    Return None if there is no such checkpoint, or its row differs from the signed note.
    """
    row = Checkpoint.objects.filter(size__lte=last_seq).order_by("-size").first()
    if row is None:
        return None
    claim = read_claim(row.note, str(row), _verifiers())
    try:
        tree = Frontier.from_hex(row.size, row.frontier)
    except ValueError:
        return None
    is_signed = claim.root is not None and (claim.size, claim.root) == (row.size, tree.root())
    return (row.size, row.head, tree) if is_signed else None
