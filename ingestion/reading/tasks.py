"""What the children do: one function per kind of task. Plain values in, plain values out.

Nothing raised here reaches the pool: an exception whose class does not unpickle would break it
for every task in flight. What is the file's fault comes back as Unreadable or as a page's error;
a fault of ours comes back as a Fault, and is raised in the parent.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import pypdfium2.raw as pdfium

from .images.page_objects import Rect
from .images.render import (
    UNREADABLE,
    Picture,
    count_frames,
    frame_picture,
    ocr_dpi,
    page_picture,
    placed_pictures,
    reason,
)
from .limits import ReadingLimits
from .merge import FirstLook, ReadPages, merge, not_read
from .pdf.file_type import sniff
from .pdf.lazy import LateUnreadableError, settled
from .pdf.open_pdf import Opened, document, open_pdf
from .pdf.page_probe import PageLook, first_look
from .pdf.pages import OpenPages
from .pdf.static_pdf import is_inert
from .pdf.text_layer import to_points
from .process_limits import page_alarm
from .results import (
    Box,
    DigitalSignature,
    DocumentReading,
    MediaType,
    PageReading,
    SignatureResult,
    TextSource,
    Unreadable,
)

Answer = TypeVar("Answer")

ENGINE_SHARE = 0.8  # of a page's time is the engine's; the rest is rendering and looking for marks


@dataclass(frozen=True, slots=True)
class TaskFault:
    """An exception of ours, as text."""

    traceback: str


def guarded(call: Callable[[], Answer]) -> Answer | TaskFault:
    try:
        return call()
    except Exception:  # noqa: BLE001 - crosses the process boundary as a value
        return TaskFault(traceback.format_exc())


def look(path: Path, rewritten: Path, limits: ReadingLimits) -> FirstLook | Unreadable:
    """The first task of a document: everything but OCR."""
    with _looked_at(path, rewritten, limits) as seen:
        return seen if isinstance(seen, Unreadable) else _settled(seen)


@dataclass(frozen=True, slots=True)
class Concluded(Generic[Answer]):
    """What somebody made of a document that needed no second task."""

    answer: Answer


def look_and_conclude(
    then: Callable[[DocumentReading | Unreadable], Answer],
    path: Path,
    rewritten: Path,
    limits: ReadingLimits,
    *,
    with_form: bool = True,
) -> FirstLook | Concluded[Answer]:
    """The first task. Without scans it is the last one too: then only the answer travels.

    `then` is given the document while it is open: words and marks are looked for where it asks.
    `with_form` False after a look that took too long: `_look_at_pdf`.
    """
    with _looked_at(path, rewritten, limits, with_form=with_form) as seen:
        if isinstance(seen, FirstLook) and seen.scans:
            return _settled(seen)
        rewritten.unlink(missing_ok=True)  # as long as it is open, it can be read all the same
        if isinstance(seen, Unreadable):
            return Concluded(then(seen))
        return Concluded(_late(seen, lambda look: then(merge(look, []))))


def read_scans(part: FirstLook, limits: ReadingLimits, *, coarsely: bool = False) -> ReadPages:
    """OCR of the pages of `part`, which is a document with some of its pages.

    `coarsely` after a look that took too long.
    """
    from .images.variants import coarse  # noqa: PLC0415 - the same
    from .ocr.engines import engine  # noqa: PLC0415 - most documents have no scan
    from .ocr.page import read_picture  # noqa: PLC0415 - the same

    reader = engine(limits.engine, limits.languages)
    pages = []
    for native in part.pages:
        with page_alarm(limits.page_seconds):
            try:
                picture = _picture(part, native.number, limits)
                picture = coarse(picture) if coarsely else picture
                page = _placed(native, picture)
                page = read_picture(picture, page, reader, limits.page_seconds * ENGINE_SHARE)
            except UNREADABLE as error:
                page = replace(native, error=reason(error))
        # What a form that was not drawn would show is not known: nobody says that it is nothing.
        pages.append(page if part.with_form else replace(page, is_blank=False))
    return ReadPages(tuple(pages), reader.version if any(page.dpi for page in pages) else "")


@contextmanager
def _looked_at(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool = True
) -> Iterator[FirstLook | Unreadable]:
    """Open within the block, for words and marks may still be looked for."""
    media_type = sniff(path, limits)
    if isinstance(media_type, Unreadable):
        yield media_type
    elif media_type is not MediaType.PDF:
        yield _look_at_scans(path, media_type, limits)
    else:
        with page_alarm(limits.page_seconds):
            opened = open_pdf(path, rewritten, limits, with_form=with_form)
        if isinstance(opened, Unreadable):
            yield opened
        else:
            with closing(opened.pdf):
                yield _look_at_pdf(opened, path, limits, with_form=with_form)


def _late(seen: FirstLook, use: Callable[[FirstLook], Answer]) -> Answer:
    """`use` of it. A page that fails when it is looked at again is a page that cannot be read."""
    while True:
        try:
            return use(seen)
        except LateUnreadableError as error:
            seen = seen.without(error.number, error.reason)


def _settled(seen: FirstLook) -> FirstLook:
    """With words and marks that can travel."""
    return _late(seen, lambda look: replace(look, pages=tuple(map(settled, look.pages))))


def _look_at_scans(
    path: Path, media_type: MediaType, limits: ReadingLimits
) -> FirstLook | Unreadable:
    with page_alarm(limits.page_seconds):
        frames = count_frames(path, limits)
    if isinstance(frames, Unreadable):
        return frames
    numbers = tuple(range(1, frames + 1))
    pages = tuple(PageReading(number, 0.0, 0.0, "", TextSource.OCR) for number in numbers)
    return FirstLook(media_type, path, pages, scans=numbers)


def _look_at_pdf(
    opened: Opened, original: Path, limits: ReadingLimits, *, with_form: bool
) -> FirstLook | Unreadable:
    """Look at every page. Without its form a document keeps its printed text, and says so.

    Then entries and annotations are not seen: `unread-form` among the flags tells the rules.
    """
    looks, pages = [], OpenPages(opened.pdf)
    has_form = opened.pdf.get_formtype() != pdfium.FORMTYPE_NONE  # before pages are flattened
    with page_alarm(limits.page_seconds):
        found = _flags(original)  # of what is filed: a repaired copy may have lost some of it
    if "xfa-dynamic" in found:
        # What its pages show is "please wait", until Adobe's reader draws the form in their place.
        return Unreadable("DYNAMIC_XFA_FORM")
    for number in range(1, len(opened.pdf) + 1):
        with page_alarm(min(limits.look_seconds, limits.page_seconds)):
            looks.append(_look_of(pages, number, limits, with_form=with_form))
    with page_alarm(limits.page_seconds):
        values = _form_values(opened.path) if has_form and with_form else {}
    if not with_form and (has_form or any(map(pages.has_annotations, range(1, len(looks) + 1)))):
        found |= {"unread-form"}
    signatures: tuple[DigitalSignature, ...] = ()
    if "digital-signature" in found:
        with page_alarm(min(limits.look_seconds, limits.page_seconds)):
            signatures = _signatures(opened, original, pages, limits, with_form=with_form)
    return FirstLook(
        MediaType.PDF,
        opened.path,
        tuple(look.page for look in looks),
        scans=tuple(look.page.number for look in looks if look.needs_ocr),
        fields=values,
        flags=found,
        signatures=signatures,
        repaired=opened.repaired,
        with_form=with_form,
    )


def _flags(path: Path) -> frozenset[str]:
    if is_inert(path):
        return frozenset()
    from .pdf.active_content import flags  # noqa: PLC0415 - most documents are inert

    return flags(path)


def _form_values(path: Path) -> Mapping[str, str]:
    from .pdf.form_values import form_values  # noqa: PLC0415 - most documents have no form

    return form_values(path)


def _signatures(
    opened: Opened, original: Path, pages: OpenPages, limits: ReadingLimits, *, with_form: bool
) -> tuple[DigitalSignature, ...]:
    """Of a file that has a signature field with a value. What was not validated says why."""
    if not with_form:
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="it took too long"),)
    if opened.repaired:
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="the file is damaged"),)
    from .pdf.digital_signatures import digital_signatures  # noqa: PLC0415 - few documents are signed

    def to_box(number: int, rectangle: Rect) -> Box:
        return to_points(pages.load(number))(rectangle)

    return digital_signatures(original, limits.trusted_issuers, to_box)


def _look_of(pages: OpenPages, number: int, limits: ReadingLimits, *, with_form: bool) -> PageLook:
    try:
        return first_look(pages, number, limits, with_form=with_form)
    except UNREADABLE as error:
        return PageLook(not_read(number, reason(error)))


def _picture(part: FirstLook, number: int, limits: ReadingLimits) -> Picture:
    if part.media_type is not MediaType.PDF:
        return frame_picture(part.path, number, limits)
    with document(part.path, with_form=part.with_form) as pdf:
        page = pdf.get_page(number - 1)
        try:
            placed = placed_pictures(page, limits)
            return page_picture(page, ocr_dpi(page, placed, limits), limits)
        finally:
            page.close()


def _placed(page: PageReading, picture: Picture) -> PageReading:
    """A picture file has no size in points until it is decoded."""
    return page if page.width else replace(page, width=picture.width, height=picture.height)
