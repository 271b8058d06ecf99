"""Files that mean no good, or are none: what a reader must survive beside others' documents.

The corpus has real ones; these are at hand everywhere.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping

import pikepdf

FILL = b"/Pattern cs /P scn 0 0 612 792 re f"
STEP = 0.001  # points between two tiles of a point each: no renderer comes to an end


def hostile() -> Mapping[str, bytes]:
    """By name."""
    return {
        "empty.pdf": b"",
        "program.pdf": b"\x7fELF" + bytes(4096),
        "archive.pdf": _archive(),
        "deep.pdf": b"%PDF-1.7\n1 0 obj\n" + b"[" * 200_000 + b"\nendobj\n",
        "bomb.pdf": _bomb(),
        "endless.pdf": _endless(),
        "million-pages.pdf": _million_pages(),
    }


def _archive() -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    return output.getvalue()


def _bomb() -> bytes:
    """A page's contents of two gigabytes, packed twice."""
    packed = zlib.compress(zlib.compress(bytes(1 << 26), 9) * 32, 9)
    with pikepdf.new() as made:
        twice = pikepdf.Array([pikepdf.Name.FlateDecode] * 2)
        made.add_blank_page().Contents = made.make_stream(packed, Filter=twice)
        return _saved(made)


def greedy() -> bytes:
    """A page's contents of a gigabyte: more memory than a parser of ours may have."""
    squeezer = zlib.compressobj(9)
    packed = [squeezer.compress(bytes(1 << 26)) for _ in range(16)]
    with pikepdf.new() as made:
        whole = b"".join([*packed, squeezer.flush()])
        made.add_blank_page().Contents = made.make_stream(whole, Filter=pikepdf.Name.FlateDecode)
        return _saved(made)


def _endless() -> bytes:
    tiling = {"PatternType": 1, "PaintType": 1, "TilingType": 1, "BBox": [0, 0, 1, 1]}
    with pikepdf.new() as made:
        tile = made.make_stream(b"0 0 1 1 re f", **tiling, XStep=STEP, YStep=STEP, Resources={})
        page = made.add_blank_page()
        page.Resources = pikepdf.Dictionary(Pattern=pikepdf.Dictionary(P=tile))
        page.Contents = made.make_stream(FILL)
        return _saved(made)


def _million_pages() -> bytes:
    with pikepdf.new() as made:
        made.add_blank_page()
        tree = made.Root.Pages
        tree.Kids = [tree.Kids[0]] * 100_000
        tree.Count = 1_000_000
        return _saved(made)


def _saved(made: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    made.save(output, deterministic_id=True, compress_streams=False)
    return output.getvalue()
