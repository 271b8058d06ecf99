"""Writes the proofs of a partial export: each entry is proved under the checkpoint.

The nodes of the tree are kept in files, 64 bytes for each entry of the trail, so that memory use
does not grow with the trail or the part.
"""

import base64
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from audit.export.trail import PinnedCheckpoint
from audit.ledger.merkle_tree import (
    HASH_BYTES,
    Frontier,
    Span,
    list_consistency_path,
    list_inclusion_path,
)

MAX_TREE_LEVELS = 48  # one file each; no trail reaches 2**48 entries


class StoredTree(Frontier):
    """A Merkle tree that keeps all of its nodes in the files of a folder."""

    __slots__ = ("_files", "_stack")

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        for level in range(MAX_TREE_LEVELS):
            self._files.append(self._stack.enter_context((folder / f"{level}").open("w+b")))

    def __enter__(self) -> "StoredTree":
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def add(self, leaf_hash: bytes) -> list[bytes]:
        """Add a leaf, store the hashes of the nodes that it completes, and return them."""
        completed = super().add(leaf_hash)
        for file, hash_ in zip(self._files, completed, strict=False):
            file.write(hash_)
        return completed

    def hash_of(self, span: Span) -> bytes:
        """Return the hash of a node. Raises KeyError if the span is not a node of the tree."""
        start, end = span
        width = end - start
        if width & (width - 1) or start % width:
            return self.right_edge(span)
        file = self._files[width.bit_length() - 1]
        file.seek(start // width * HASH_BYTES)
        return file.read(HASH_BYTES)


def write_proofs(folder: Path, pin: PinnedCheckpoint, nodes: StoredTree, seqs: IO[bytes]) -> None:
    """Write the inclusion proofs of entries, and the consistency proofs of older checkpoints.

    `seqs` has the numbers of the entries, 8 bytes each, in big-endian order.
    """
    folder.mkdir()
    note = pin.notes[pin.size]
    with (folder / "inclusion.tlog-proofs").open("w", encoding="utf-8", newline="") as file:
        while raw := seqs.read(8):
            index = int.from_bytes(raw, "big") - 1
            path = _encode_hashes(nodes, list_inclusion_path(index, pin.size))
            file.write(f"c2sp.org/tlog-proof@v1\nindex {index}\n{path}\n{note}")
    for old in pin.notes.keys() - {pin.size}:
        path = _encode_hashes(nodes, list_consistency_path(old, pin.size))
        (folder / f"{old}.consistency").write_text(f"old {old}\n{path}\n{note}", newline="")


def _encode_hashes(nodes: StoredTree, spans: list[Span]) -> str:
    return "".join(f"{base64.b64encode(nodes.hash_of(span)).decode()}\n" for span in spans)
