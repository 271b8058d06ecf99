"""A part of a representation: `Range` and `If-Range` (RFC 9110, 13.1.5 and 14). Pure."""

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})").fullmatch


@dataclass(frozen=True, slots=True)
class Part:
    first: int
    last: int  # inclusive, as the header has it
    size: int  # of the whole

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    @property
    def content_range(self) -> str:
        return f"bytes {self.first}-{self.last}/{self.size}"


class NotSatisfiable(Exception):
    """The range begins behind the end: 416."""


def asked_part(range_: str, if_range: str, *, etag: str, size: int) -> Part | None:
    """None: send the whole. Raises NotSatisfiable.

    What we do not understand is passed over, as the RFC asks; of several ranges at once too,
    which we need not serve.
    """
    if if_range and if_range != etag:
        return None  # a date, a weak or another tag: the client's part is of something else
    asked = _ONE_RANGE(range_.replace(" ", ""))
    if asked is None or asked[0] == "bytes=-":
        return None
    first, last = asked[1], asked[2]
    if not first:
        return _tail(int(last), size)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise NotSatisfiable
    end = min(int(last), size - 1) if last else size - 1
    return Part(int(first), end, size)


def _tail(length: int, size: int) -> Part:
    if not length or not size:
        raise NotSatisfiable
    return Part(max(0, size - length), size - 1, size)
