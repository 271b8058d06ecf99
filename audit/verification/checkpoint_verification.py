"""Signed heads, held against the trail: checkpoints of the database, notes in write-once places.

A signed head says how many entries the trail had, and the root of the tree over them. Whoever may
write to the tables can make a chain that holds; a head that we signed and that is kept elsewhere
shows that it is another one, or that its end is gone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from operator import attrgetter

from django.db.models import Max

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
MAX_CLAIMS = 1_000  # notes kept that the database has not, or otherwise; one is enough to say so


class CannotVerify(Exception):
    """Something outside of the database that a check needs is not there. Says nothing of it."""


@dataclass(frozen=True, slots=True)
class CheckpointClaim:
    """That the trail had this root when it had `size` entries."""

    size: int
    root: bytes | None  # None: nobody whom we know has signed it
    whence: str
    fault: str = ""  # a sentence: why it is not believed
    stored: tuple[str, str, str] | None = None  # head, root and frontier beside it in the row


class ClaimChecker:
    """The tree as it grows, and the claims that it has to meet on its way, in order of size."""

    __slots__ = ("_claims", "_next", "_tree", "due", "met")

    def __init__(self, tree: Frontier, claims: Iterable[CheckpointClaim]) -> None:
        self._tree = tree
        self._claims = iter(claims)
        self.met = tree.size  # up to here the entries are those that were signed
        self._advance()

    def _advance(self) -> None:
        self._next = next(self._claims, None)
        self.due = self._next.size if self._next else 0  # the size at which to call `meet`

    def add(self, lines: Iterable[str]) -> None:
        self._tree.extend(map(hash_leaf, lines))

    def meet(self, head: str) -> Iterator[str]:
        """A sentence for each fault of what is claimed of this size. Raises BrokenChain."""
        root, met = self._tree.root(), self.met
        while (claim := self._next) and claim.size == self._tree.size:
            if claim.fault:
                yield claim.fault
            if claim.root is not None:
                self._compare(claim, root)
                met = claim.size
            if claim.stored and claim.stored != (head, root.hex(), self._tree.hex()):
                yield f"The row of {claim.whence} was changed: it is not what belongs to its note."
            self._advance()
        self.met = met  # only now: what one note of this size says, another may contradict

    def _compare(self, claim: CheckpointClaim, root: bytes) -> None:
        if claim.root is not None and claim.root != root:
            which = f"one of the entries {self.met + 1:,} to {claim.size:,}"
            why = f"{which} was rewritten after it was signed; {claim.whence} has another root"
            raise BrokenChain(ChainBreak(self.met + 1, why, claim.root.hex(), root.hex()))

    def end(self) -> Iterator[str]:
        """The trail has no more entries: what is claimed of more? Raises BrokenChain."""
        beyond = None
        while claim := self._next:
            if claim.fault:
                yield claim.fault
            beyond = claim if claim.root is not None else beyond
            self._advance()
        if beyond:
            there = self._tree.size
            why = f"the end of the trail was cut off: {beyond.whence} was signed when it was longer"
            raise BrokenChain(
                ChainBreak(there + 1, why, f"{beyond.size:,} entries", f"{there:,} entries")
            )


@dataclass(slots=True)
class ReadBack:
    """What one place gave back in this check."""

    largest: int = 0  # the size that its largest note names
    newest: int = 0  # the largest checkpoint that it holds as the database has it
    flaw: str = ""  # why that note could be replaced there; "" if it could not be
    error: str = ""  # why the place could not be read


@dataclass(slots=True)
class AnchoredNotes:
    """What the write-once places hold, beside what the database has of it."""

    read: dict[str, ReadBack] = field(default_factory=dict)  # by the place's address
    claims: list[CheckpointClaim] = field(
        default_factory=list
    )  # what the database has not, or otherwise
    problems: list[str] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """The largest checkpoint of the database that a place holds as well."""
        return max((each.newest for each in self.read.values()), default=0)

    @property
    def errors(self) -> list[str]:
        """Why places could not be read, a sentence each."""
        return [each.error for each in self.read.values() if each.error]

    @property
    def agreed(self) -> int | None:
        """Below everything that was signed and that the database has not; None without any."""
        return min(claim.size for claim in self.claims) - 1 if self.claims else None


def read_anchors(after: int = 0, verifiers: Sequence[Verifier] | None = None) -> AnchoredNotes:
    """Read back the anchored notes of more than `after` entries, believing these keys or ours.

    In pages: memory does not grow with their number. Raises CannotCheck without our keys.
    """
    found = AnchoredNotes()
    verifiers = _verifiers() if verifiers is None else verifiers
    for place in anchors.configured_anchors():
        read = found.read[place.address] = ReadBack()
        for page in _pages(place, after, read):
            _compare(page, verifiers, read, found)
    largest = max((each.largest for each in found.read.values()), default=0)
    if not found.errors and (put := largest_receipt()) > largest:
        found.problems.append(
            f"The checkpoint of {put:,} entries was put into a write-once place, and is there no "
            f"more: the largest found is of {largest:,}."
        )
    return found


def _pages(place: Anchor, after: int, read: ReadBack) -> Iterator[Sequence[AnchoredNote]]:
    try:
        notes = iter(place.read_back(after))
        while page := list(islice(notes, NOTES_PER_PAGE)):
            yield page
    except Exception as error:  # noqa: BLE001 - whatever the place's library raises is no finding
        read.error = f"The anchor {place.address} could not be read: {error}"


def largest_receipt(upto: int | None = None) -> int:
    """The largest checkpoint that a place which keeps notes gave a receipt for."""
    keeping = [place.name for place in anchors.configured_anchors() if place.keeps_notes]
    receipts = Receipt.objects.filter(anchor__in=keeping)
    receipts = receipts if upto is None else receipts.filter(checkpoint__lte=upto)
    return receipts.aggregate(Max("checkpoint_id"))["checkpoint_id__max"] or 0


def _compare(
    page: Sequence[AnchoredNote],
    verifiers: Sequence[Verifier],
    read: ReadBack,
    found: AnchoredNotes,
) -> None:
    """Enter what a place's notes say beside the database."""
    sizes = [checkpoint_size(held.note) for held in page]
    read.largest = max(read.largest, *sizes)
    rows = Checkpoint.objects.filter(size__in=set(sizes)).values_list("size", "note", "root")
    stored = {size: (note, root) for size, note, root in rows}
    for (place, note, flaw), size in zip(page, sizes, strict=True):
        of_row, root = stored.get(size, ("", ""))
        claim = None if note == of_row else read_claim(note, f"the note in {place}", verifiers)
        if claim is None or (claim.root is not None and claim.root.hex() == root):
            _confirm(size, flaw, read)
        elif len(found.problems) < MAX_CLAIMS:
            found.claims += [claim] if claim.root is not None else []
            found.problems.append(claim.fault or _missing(claim, of_row))


def _confirm(size: int, flaw: str, read: ReadBack) -> None:
    """The place holds this checkpoint as the database has it; a copy without a flaw counts."""
    if (size, not flaw) > (read.newest, not read.flaw):
        read.newest, read.flaw = size, flaw


def checkpoint_size(note: str) -> int:
    """What it names, believed or not; 0 for what is no checkpoint."""
    try:
        return CheckpointText.parse(note.partition("\n\n")[0] + "\n").size
    except BadNote:
        return 0


def _missing(claim: CheckpointClaim, of_row: str) -> str:
    has = "has another" if of_row else "has it no more"
    return f"{claim.whence} is a signed checkpoint of {claim.size:,} entries; the database {has}."


def read_claim(note: str, whence: str, verifiers: Sequence[Verifier]) -> CheckpointClaim:
    """What a note claims. One that nobody whom we know has signed claims nothing."""
    try:
        text, signers = open_note(note, verifiers)
        head = CheckpointText.parse(text)
    except BadNote as error:
        return CheckpointClaim(
            checkpoint_size(note), None, whence, f"Not to be believed is {whence}: {error}."
        )
    if any(signer.name != head.origin for signer in signers):
        other = f"Not to be believed is {whence}: it is of another trail, {head.origin}."
        return CheckpointClaim(head.size, None, whence, other)
    return CheckpointClaim(head.size, head.root, whence)


def iter_claims(
    after: int,
    upto: int | None,
    more: Sequence[CheckpointClaim],
    verifiers: Sequence[Verifier] | None = None,
) -> Iterator[CheckpointClaim]:
    """Of the database's checkpoints and of `more`, those of sizes in (after, upto], by size.

    The keys are those that are believed; None: ours.
    """
    others = [
        claim for claim in more if after < claim.size and (upto is None or claim.size <= upto)
    ]
    by_size = attrgetter("size")
    return merge(_stored(after, upto, verifiers), sorted(others, key=by_size), key=by_size)


def _verifiers() -> list[Verifier]:
    """Raises CannotCheck."""
    try:
        return keys.verifiers()
    except Exception as error:
        raise CannotVerify(f"the public keys of the trail cannot be read: {error}") from error


def largest_checkpoint() -> int:
    """The largest checkpoint of the database. Ask before entries are read: more may be signed."""
    return Checkpoint.objects.aggregate(Max("size"))["size__max"] or 0


def _stored(
    after: int, upto: int | None, verifiers: Sequence[Verifier] | None
) -> Iterator[CheckpointClaim]:
    verifiers = _verifiers() if verifiers is None else verifiers
    rows = Checkpoint.objects.filter(size__lte=largest_checkpoint() if upto is None else upto)
    columns = rows.values_list("size", "note", "head", "root", "frontier")
    for size, note, *copies in chain.from_iterable(
        iter_pages(columns, "size", after, NOTES_PER_PAGE)
    ):
        whence = f"the checkpoint of {size:,} entries in the database"
        claim = read_claim(note, whence, verifiers)
        fault = claim.fault
        if claim.root is not None and claim.size != size:
            fault = f"The note of {whence} is of {claim.size:,} entries."
        yield CheckpointClaim(size, None if fault else claim.root, whence, fault, tuple(copies))


def trusted_start(upto: int) -> tuple[int, str, Frontier] | None:
    """Size, head and tree of the largest checkpoint of at most so many entries, if it is signed.

    None where there is no such checkpoint, or what it says is not what was signed.
    """
    row = Checkpoint.objects.filter(size__lte=upto).order_by("-size").first()
    if row is None:
        return None
    claim = read_claim(row.note, str(row), _verifiers())
    try:
        tree = Frontier.from_hex(row.size, row.frontier)
    except ValueError:
        return None
    is_signed = claim.root is not None and (claim.size, claim.root) == (row.size, tree.root())
    return (row.size, row.head, tree) if is_signed else None
