"""Makes hostile and unusable files, which must not affect the reading of other documents.

The corpus has real ones. These are generated and need no corpus.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import pikepdf

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"  # real documents, if present
HOSTILE_KINDS = {"hostile", "corrupt", "encrypted"}  # of the corpus
# Fills a page with a tiling pattern.
PATTERN_FILL = b"/Pattern cs /P scn 0 0 612 792 re f"
TILE_STEP_POINTS = 0.001  # between tiles of one point: no renderer finishes


def make_hostile_files() -> Mapping[str, bytes]:
    """Return the files by name."""
    return {
        "empty.pdf": b"",
        "program.pdf": b"\x7fELF" + bytes(4096),
        "archive.pdf": _word_file(),
        "deep.pdf": b"%PDF-1.7\n1 0 obj\n" + b"[" * 200_000 + b"\nendobj\n",
        "bomb.pdf": _double_flate_bomb(),
        "endless.pdf": _endless_tiling(),
        "million-pages.pdf": _million_pages(),
    }


def load_corpus_files(kinds: set[str]) -> Mapping[str, bytes]:
    """Return the files of the corpus of these kinds by name, or none if it is absent."""
    if not CORPUS.exists():
        return {}
    rows = json.loads((CORPUS / "manifest.json").read_text())
    return {
        row["file"]: (CORPUS / row["file"]).read_bytes() for row in rows if row["kind"] in kinds
    }


def _word_file() -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    return output.getvalue()


def _double_flate_bomb() -> bytes:
    """Return a page whose content stream of two gigabytes is compressed twice."""
    packed = zlib.compress(zlib.compress(bytes(1 << 26), 9) * 32, 9)
    with pikepdf.new() as made:
        twice = pikepdf.Array([pikepdf.Name.FlateDecode] * 2)
        made.add_blank_page().Contents = made.make_stream(packed, Filter=twice)
        return _to_bytes(made)


def make_memory_bomb() -> bytes:
    """Return a page whose content of a gigabyte exceeds a parser process's memory limit."""
    compressor = zlib.compressobj(9)
    packed = [compressor.compress(bytes(1 << 26)) for _ in range(16)]
    with pikepdf.new() as made:
        whole = b"".join([*packed, compressor.flush()])
        made.add_blank_page().Contents = made.make_stream(whole, Filter=pikepdf.Name.FlateDecode)
        return _to_bytes(made)


def _endless_tiling() -> bytes:
    tiling = {"PatternType": 1, "PaintType": 1, "TilingType": 1, "BBox": [0, 0, 1, 1]}
    with pikepdf.new() as made:
        tile = made.make_stream(
            b"0 0 1 1 re f", **tiling, XStep=TILE_STEP_POINTS, YStep=TILE_STEP_POINTS, Resources={}
        )
        page = made.add_blank_page()
        page.Resources = pikepdf.Dictionary(Pattern=pikepdf.Dictionary(P=tile))
        page.Contents = made.make_stream(PATTERN_FILL)
        return _to_bytes(made)


def _million_pages() -> bytes:
    with pikepdf.new() as made:
        made.add_blank_page()
        tree = made.Root.Pages
        tree.Kids = [tree.Kids[0]] * 100_000
        tree.Count = 1_000_000
        return _to_bytes(made)


def _to_bytes(made: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    made.save(output, deterministic_id=True, compress_streams=False)
    return output.getvalue()
