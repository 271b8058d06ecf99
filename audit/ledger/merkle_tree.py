"""The Merkle tree of RFC 6962, section 2.1, over the ledger's lines.

No Django, no clock, no I/O. The leaf of an entry is its line, so that the root over n entries
commits to every byte of all of them. A tree grows by its frontier alone: the roots of the perfect
subtrees that it is made of, at most one for each bit of its size, and never a row is read again.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

HASH_BYTES = 32
EMPTY = hashlib.sha256().digest()  # the root over no entries

Span = tuple[int, int]  # the entries [start, end) that a node stands over, counted from 0


def hash_leaf(line: str) -> bytes:
    """A line's leaf. The prefix byte keeps a leaf from being passed off as a node."""
    return hashlib.sha256(b"\x00" + line.encode()).digest()


def hash_node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that grows. `roots` are those of its perfect subtrees, the largest first."""

    __slots__ = ("roots", "size")

    def __init__(self, size: int = 0, roots: Iterable[bytes] = ()) -> None:
        """Raises ValueError when a tree of this size has another number of subtrees."""
        self.size = size
        self.roots = list(roots)
        if len(self.roots) != size.bit_count():
            what = f"{size.bit_count()} subtrees, not {len(self.roots)}"
            raise ValueError(f"{size} entries make {what}")

    def add(self, leaf_hash: bytes) -> list[bytes]:
        """The roots of the perfect subtrees that end with it: over 1, 2, 4, ... entries."""
        completed, size, roots = [leaf_hash], self.size, self.roots
        while size & 1:
            leaf_hash = hash_node(roots.pop(), leaf_hash)
            completed.append(leaf_hash)
            size >>= 1
        roots.append(leaf_hash)
        self.size += 1
        return completed

    def extend(self, leaf_hashes: Iterable[bytes]) -> None:
        """Add many. Level by level, which takes two thirds of the time."""
        level, size, last = list(leaf_hashes), self.size, list[bytes]()
        self.size += len(level)
        while level:
            if size & 1:
                level.insert(0, self.roots.pop())
            if len(level) & 1:
                last.append(level.pop())
            level = list(map(hash_node, level[::2], level[1::2]))
            size >>= 1
        self.roots += reversed(last)

    def root(self) -> bytes:
        """The hash of the whole tree as it is now."""
        return _folded(self.roots) if self.roots else EMPTY

    def right_edge(self, span: Span) -> bytes:
        """A subtree that reaches to the end and is not perfect: the last roots, folded.

        Raises KeyError for a span that is no node of the tree.
        """
        at = 0
        for count, width in enumerate(_widths(self.size)):
            if (at, self.size) == span:
                return _folded(self.roots[count:])
            at += width
        raise KeyError(span)

    def hex(self) -> str:
        """For a row: the roots in hex, one after the other."""
        return b"".join(self.roots).hex()

    @classmethod
    def from_hex(cls, size: int, text: str) -> "Frontier":
        raw = bytes.fromhex(text)
        roots = [raw[at : at + HASH_BYTES] for at in range(0, len(raw), HASH_BYTES)]
        return cls(size, roots)


def inclusion_path(index: int, size: int) -> list[Span]:
    """The nodes that prove entry `index` (from 0) in a tree of `size`, from the leaf upwards.

    Raises IndexError outside the tree.
    """
    if not 0 <= index < size:
        raise IndexError(f"entry {index} of {size}")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start = middle
    return path[::-1]


def consistency_path(old: int, size: int) -> list[Span]:
    """The nodes that prove the tree of `size` to be that of `old` with entries added.

    RFC 6962, section 2.1.2. Empty where either is all of the other. Raises IndexError otherwise
    than for 0 < old <= size.
    """
    if not 0 < old <= size:
        raise IndexError(f"{old} of {size} entries")
    path, start, end, is_known = [], 0, size, True
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start, is_known = middle, False
    return ([] if is_known else [(start, end)]) + path[::-1]


def _folded(roots: Sequence[bytes]) -> bytes:
    *rest, hash_ = roots
    for left in reversed(rest):
        hash_ = hash_node(left, hash_)
    return hash_


def _widths(size: int) -> Iterator[int]:
    """The sizes of a tree's perfect subtrees, the largest first."""
    for bit in reversed(range(size.bit_length())):
        if size >> bit & 1:
            yield 1 << bit


def _split(size: int) -> int:
    """The largest power of two below `size`: what the left subtree of a tree holds."""
    return 1 << (size - 1).bit_length() - 1
