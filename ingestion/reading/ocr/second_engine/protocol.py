"""Defines what a parser process and the process of the second engine send each other.

A connection serves one page. The engine sends `READY` when it is the client's turn. The client
then sends a request as JSON and the pixels, and receives one response as JSON. Neither side
unpickles anything, because a parser process works with files of others.
"""

from pydantic import BaseModel

READY = b"ready"
MAX_PIXELS = 30_000_000  # of one page; more than `ReadingLimits.max_render_pixels`
MAX_REQUEST_BYTES = 1_000
MAX_RESPONSE_BYTES = 4_000_000


class PageRequest(BaseModel):
    """A page to read. `height * width` bytes follow it: grey pixels, row after row."""

    height: int
    width: int
    # Of the monotonic clock, which all processes of a host share. Later, nobody waits any more.
    deadline: float


class LineWord(BaseModel):
    """A word of a line, with its box in pixels and the confidence from 0 to 100."""

    text: str
    confidence: float
    left: int
    top: int
    right: int
    bottom: int


class PageResponse(BaseModel):
    """The lines of a page from top to bottom, or the reason why it was not read."""

    version: str  # of the engine and its models
    lines: list[list[LineWord]] = []
    error: str = ""
