"""Defines a request to render a page, and the answer if it fails.

`preview_images` renders pages. It is imported only where a page is rendered, because the libraries
that open files take a sixth of the time in which a management command starts.
"""

from dataclasses import dataclass

PREVIEW_WIDTH = 980  # pixels: small print is legible, and a page has about 40 KB


@dataclass(frozen=True, slots=True)
class PreviewFailed:
    """The reason why a page was not rendered, for the log. People see a general message."""

    reason: str


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The page to render and how."""

    page: int  # from 1
    rotation: int = 0  # degrees clockwise: 0, 90, 180 or 270
    zoom: int = 1  # multiple of `PREVIEW_WIDTH`
