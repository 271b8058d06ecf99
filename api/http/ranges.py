"""Parses the request headers `Range` and `If-Range` (RFC 9110, 13.1.5 and 14).

The functions are pure: they read no file and no row.
"""

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})").fullmatch


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Describes a range of bytes that lies within the representation. Positions count from 0."""

    first: int
    last: int  # inclusive, as in the header
    size: int  # bytes of the whole representation

    @property
    def length(self) -> int:
        """Return the number of bytes in the range."""
        return self.last - self.first + 1

    @property
    def content_range(self) -> str:
        """Return the value of the header `Content-Range` (RFC 9110, 14.4)."""
        return f"bytes {self.first}-{self.last}/{self.size}"


class RangeNotSatisfiable(Exception):
    """The range begins after the end of the representation (status 416)."""


def parse_range(range_: str, if_range: str, *, etag: str, size: int) -> ByteRange | None:
    """Return the requested range, or None if the whole representation has to be sent.

    A header that is not understood is ignored, as the RFC requires. A request for several ranges
    is ignored too, because a server need not support it. Raises RangeNotSatisfiable.
    """
    if if_range and if_range != etag:
        return None  # The client has part of another version, or sent a date or a weak tag.
    found = _ONE_RANGE(range_.replace(" ", ""))
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found[1], found[2]
    if not first:  # `bytes=-N`: the last N bytes
        length = int(last)
        if not length or not size:
            raise RangeNotSatisfiable
        return ByteRange(max(0, size - length), size - 1, size)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise RangeNotSatisfiable
    return ByteRange(int(first), min(int(last), size - 1) if last else size - 1, size)
