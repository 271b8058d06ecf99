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

from .images.page_objects import PdfRect
from .images.render import (
    PAGE_ERRORS,
    PageRaster,
    count_frames,
    error_text,
    list_images,
    load_frame,
    ocr_dpi,
    render_page,
)
from .limits import ReadingLimits
from .merge import OcrPages, ProbedDocument, merge, unreadable_page
from .pdf.file_type import detect_media_type
from .pdf.lazy import LazyReadError, evaluate
from .pdf.open_pdf import OpenedPdf, open_document, open_pdf
from .pdf.page_probe import PageProbe, probe_page
from .pdf.pages import OpenPages
from .pdf.static_pdf import is_static
from .pdf.text_layer import point_transform
from .process_limits import page_time_limit
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


def run_guarded(call: Callable[[], Answer]) -> Answer | TaskFault:
    try:
        return call()
    except Exception:  # noqa: BLE001 - crosses the process boundary as a value
        return TaskFault(traceback.format_exc())


def probe_document(
    path: Path, rewritten: Path, limits: ReadingLimits
) -> ProbedDocument | Unreadable:
    """The first task of a document: everything but OCR."""
    with _looked_at(path, rewritten, limits) as seen:
        return seen if isinstance(seen, Unreadable) else _settled(seen)


@dataclass(frozen=True, slots=True)
class Conclusion(Generic[Answer]):
    """What somebody made of a document that needed no second task."""

    answer: Answer


def probe_and_conclude(
    then: Callable[[DocumentReading | Unreadable], Answer],
    path: Path,
    rewritten: Path,
    limits: ReadingLimits,
    *,
    with_form: bool = True,
) -> ProbedDocument | Conclusion[Answer]:
    """The first task. Without scans it is the last one too: then only the answer travels.

    `then` is given the document while it is open: words and marks are looked for where it asks.
    `with_form` False after a look that took too long: `_look_at_pdf`.
    """
    with _looked_at(path, rewritten, limits, with_form=with_form) as seen:
        if isinstance(seen, ProbedDocument) and seen.scans:
            return _settled(seen)
        rewritten.unlink(missing_ok=True)  # as long as it is open, it can be read all the same
        if isinstance(seen, Unreadable):
            return Conclusion(then(seen))
        return Conclusion(_late(seen, lambda probe_document: then(merge(probe_document, []))))


def read_scans(
    part: ProbedDocument, limits: ReadingLimits, *, low_resolution: bool = False
) -> OcrPages:
    """OCR of the pages of `part`, which is a document with some of its pages.

    `coarsely` after a look that took too long.
    """
    from .images.variants import coarsen  # noqa: PLC0415 - the same
    from .ocr.engines import get_engine  # noqa: PLC0415 - most documents have no scan
    from .ocr.page import read_page_image  # noqa: PLC0415 - the same

    reader = get_engine(limits.engine, limits.languages)
    pages = []
    for native in part.pages:
        with page_time_limit(limits.page_seconds):
            try:
                picture = _picture(part, native.number, limits)
                picture = coarsen(picture) if low_resolution else picture
                page = _placed(native, picture)
                page = read_page_image(picture, page, reader, limits.page_seconds * ENGINE_SHARE)
            except PAGE_ERRORS as error:
                page = replace(native, error=error_text(error))
        # What a form that was not drawn would show is not known: nobody says that it is nothing.
        pages.append(page if part.with_form else replace(page, is_blank=False))
    return OcrPages(tuple(pages), reader.version if any(page.dpi for page in pages) else "")


@contextmanager
def _looked_at(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool = True
) -> Iterator[ProbedDocument | Unreadable]:
    """Open within the block, for words and marks may still be looked for."""
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        yield media_type
    elif media_type is not MediaType.PDF:
        yield _look_at_scans(path, media_type, limits)
    else:
        with page_time_limit(limits.page_seconds):
            opened = open_pdf(path, rewritten, limits, with_form=with_form)
        if isinstance(opened, Unreadable):
            yield opened
        else:
            with closing(opened.pdf):
                yield _look_at_pdf(opened, path, limits, with_form=with_form)


def _late(seen: ProbedDocument, use: Callable[[ProbedDocument], Answer]) -> Answer:
    """`use` of it. A page that fails when it is looked at again is a page that cannot be read."""
    while True:
        try:
            return use(seen)
        except LazyReadError as error:
            seen = seen.without(error.number, error.reason)


def _settled(seen: ProbedDocument) -> ProbedDocument:
    """With words and marks that can travel."""
    return _late(
        seen,
        lambda probe_document: replace(
            probe_document, pages=tuple(map(evaluate, probe_document.pages))
        ),
    )


def _look_at_scans(
    path: Path, media_type: MediaType, limits: ReadingLimits
) -> ProbedDocument | Unreadable:
    with page_time_limit(limits.page_seconds):
        frames = count_frames(path, limits)
    if isinstance(frames, Unreadable):
        return frames
    numbers = tuple(range(1, frames + 1))
    pages = tuple(PageReading(number, 0.0, 0.0, "", TextSource.OCR) for number in numbers)
    return ProbedDocument(media_type, path, pages, scans=numbers)


def _look_at_pdf(
    opened: OpenedPdf, original: Path, limits: ReadingLimits, *, with_form: bool
) -> ProbedDocument | Unreadable:
    """Look at every page. Without its form a document keeps its printed text, and says so.

    Then entries and annotations are not seen: `unread-form` among the flags tells the rules.
    """
    looks, pages = [], OpenPages(opened.pdf)
    has_form = opened.pdf.get_formtype() != pdfium.FORMTYPE_NONE  # before pages are flattened
    with page_time_limit(limits.page_seconds):
        found = _flags(original)  # of what is filed: a repaired copy may have lost some of it
    if "xfa-dynamic" in found:
        # What its pages show is "please wait", until Adobe's reader draws the form in their place.
        return Unreadable("DYNAMIC_XFA_FORM")
    for number in range(1, len(opened.pdf) + 1):
        with page_time_limit(min(limits.probe_seconds, limits.page_seconds)):
            looks.append(_look_of(pages, number, limits, with_form=with_form))
    with page_time_limit(limits.page_seconds):
        values = _form_values(opened.path) if has_form and with_form else {}
    if not with_form and (has_form or any(map(pages.has_annotations, range(1, len(looks) + 1)))):
        found |= {"unread-form"}
    signatures: tuple[DigitalSignature, ...] = ()
    if "digital-signature" in found:
        with page_time_limit(min(limits.probe_seconds, limits.page_seconds)):
            signatures = _signatures(opened, original, pages, limits, with_form=with_form)
    return ProbedDocument(
        MediaType.PDF,
        opened.path,
        tuple(probe_document.page for probe_document in looks),
        scans=tuple(
            probe_document.page.number for probe_document in looks if probe_document.needs_ocr
        ),
        fields=values,
        flags=found,
        signatures=signatures,
        repaired=opened.repaired,
        with_form=with_form,
    )


def _flags(path: Path) -> frozenset[str]:
    if is_static(path):
        return frozenset()
    from .pdf.active_content import find_active_content  # noqa: PLC0415 - most documents are inert

    return find_active_content(path)


def _form_values(path: Path) -> Mapping[str, str]:
    from .pdf.form_values import form_values  # noqa: PLC0415 - most documents have no form

    return form_values(path)


def _signatures(
    opened: OpenedPdf, original: Path, pages: OpenPages, limits: ReadingLimits, *, with_form: bool
) -> tuple[DigitalSignature, ...]:
    """Of a file that has a signature field with a value. What was not validated says why."""
    if not with_form:
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="it took too long"),)
    if opened.repaired:
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="the file is damaged"),)
    from .pdf.digital_signatures import digital_signatures  # noqa: PLC0415 - few documents are signed

    def to_box(number: int, rectangle: PdfRect) -> Box:
        return point_transform(pages.load(number))(rectangle)

    return digital_signatures(original, limits.trusted_issuers, to_box)


def _look_of(pages: OpenPages, number: int, limits: ReadingLimits, *, with_form: bool) -> PageProbe:
    try:
        return probe_page(pages, number, limits, with_form=with_form)
    except PAGE_ERRORS as error:
        return PageProbe(unreadable_page(number, error_text(error)))


def _picture(part: ProbedDocument, number: int, limits: ReadingLimits) -> PageRaster:
    if part.media_type is not MediaType.PDF:
        return load_frame(part.path, number, limits)
    with open_document(part.path, with_form=part.with_form) as pdf:
        page = pdf.get_page(number - 1)
        try:
            placed = list_images(page, limits)
            return render_page(page, ocr_dpi(page, placed, limits), limits)
        finally:
            page.close()


def _placed(page: PageReading, picture: PageRaster) -> PageReading:
    """A picture file has no size in points until it is decoded."""
    return page if page.width else replace(page, width=picture.width, height=picture.height)
