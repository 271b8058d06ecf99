"""Defines the tasks of parser processes, as functions with plain arguments and results.

No exception leaves a task, because one whose class cannot be unpickled would break the pool for
every task in progress. A fault of the file is returned as Unreadable or as the error of a page. A
fault of ours is returned as a TaskFault, which the parent process raises.
"""

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pypdfium2.raw as pdfium
from structlog.contextvars import bound_contextvars

from .images.page_objects import PdfRect
from .images.render import (
    PAGE_ERRORS,
    PageRaster,
    choose_ocr_dpi,
    count_frames,
    describe_page_error,
    list_images,
    load_frame,
    render_page,
)
from .images.separator_codes import CODES_DPI, read_separator_codes
from .kept_pages import KeptPage, keep_page, load_page
from .limits import ReadingLimits
from .merge import OcrPages, ProbedDocument, make_unreadable_page, merge_pages
from .pdf.file_type import detect_media_type, name_media_type
from .pdf.lazy import LazyReadError, evaluate
from .pdf.open_pdf import OpenedPdf, open_document, open_pdf
from .pdf.page_probe import PageProbe, probe_page
from .pdf.pages import OpenPages
from .pdf.static_pdf import is_static
from .pdf.text_layer import make_point_transform
from .process_limits import limit_page_time
from .reading_stages import NOTHING, LeftOut, PageStage, PageStages, Stage, note_work
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

if TYPE_CHECKING:
    from .ocr.page_language import LanguageEngines
    from .ocr.second_engine.client import SecondEngine

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class TaskFault:
    """An unexpected exception in a task, as text."""

    traceback: str


def run_guarded(
    task: "partial[Result]", log_facts: Mapping[str, Any] = MappingProxyType({})
) -> Result | TaskFault:
    """Return the result of a task, or its unexpected exception as a TaskFault.

    `log_facts` are structlog's context of the caller, which every line of the log repeats.
    """
    started = time.monotonic()
    with bound_contextvars(**log_facts):
        try:
            result = task()
        except Exception:  # It passes between processes as a value
            logger.exception("reading failed in a parser process")
            return TaskFault(traceback.format_exc())
        ms = round((time.monotonic() - started) * 1000)
        logger.info("parser.%s", task.func.__name__, extra={"ms": ms})
        return result


def probe_document(
    path: Path, rewritten: Path, limits: ReadingLimits
) -> ProbedDocument | Unreadable:
    """Read everything of a document that needs no OCR, as plain data.

    A repaired copy of a damaged document is written to `rewritten`, which the caller removes.
    """
    with _open_probe(path, rewritten, limits) as probe:
        return probe if isinstance(probe, Unreadable) else _evaluate_pages(probe)


@dataclass(frozen=True, slots=True)
class Conclusion(Generic[Result]):
    """The caller's result for a document that needed no second task."""

    result: Result


def probe_and_conclude(
    conclude: Callable[[DocumentReading | Unreadable], Result],
    path: Path,
    rewritten: Path,
    limits: ReadingLimits,
    *,
    pages: range | None = None,
    left_out: LeftOut = NOTHING,
) -> ProbedDocument | Conclusion[Result]:
    """Probe a document, and call `conclude` with its reading if no page needs OCR.

    `conclude` is called while the document is open, so that words and marks are searched only
    where it uses them, and only its result is sent back. `pages` are the numbers of the pages to
    read; None: all of them.
    """
    with _open_probe(path, rewritten, limits, pages=pages, left_out=left_out) as probe:
        if isinstance(probe, ProbedDocument) and probe.scans:
            return _evaluate_pages(probe)
        rewritten.unlink(missing_ok=True)  # it remains readable as long as it is open
        if isinstance(probe, Unreadable):
            return Conclusion(conclude(probe))
        return Conclusion(_apply(probe, lambda document: conclude(merge_pages(document, []))))


def read_scans(
    part: ProbedDocument,
    limits: ReadingLimits,
    left_out: LeftOut = NOTHING,
) -> OcrPages:
    """Read the pages of `part` by OCR. `part` is a document with some of its pages.

    If the first pages take more than the time of a first look, the others are left to another task.
    Pages that a worker read before it died are not read again (`kept_pages`).
    """
    from .ocr.page_language import get_language_engines  # noqa: PLC0415 - most have no scan

    engines = get_language_engines(limits.engine, limits.languages)
    language = engines.choose_first(part.expected_language)
    second = _get_second_engine(limits)
    pages: list[PageReading] = []
    notes: dict[str, None] = {}  # about the second engine
    seconds = _first_look_seconds(limits)
    began = time.process_time()
    for probed in part.pages:
        if pages and time.process_time() - began > seconds:
            break
        read = load_page(part.kept, probed.number) if part.kept else None
        if read is None or read.engine != engines.version:
            limit = seconds if left_out == NOTHING else limits.page_seconds
            with limit_page_time(limit), note_work(probed.number, Stage.OCR):
                read = _read_scan(
                    part,
                    probed,
                    limits,
                    engines,
                    language=language,
                    second=second,
                    left_out=left_out,
                )
            if part.kept and left_out == NOTHING and not read.page.error:
                keep_page(part.kept, read)
        page = read.page
        notes |= {read.note: None}
        # The next page is probably in the same language.
        language = page.language if page.language in engines.languages else language
        # A form that was not drawn may show something, so its page is not called blank.
        pages.append(page if part.with_form else replace(page, is_blank=False))
    used = "; ".join(filter(None, [engines.version, *notes]))
    return OcrPages(tuple(pages), used if any(page.dpi for page in pages) else "")


def _get_second_engine(limits: ReadingLimits) -> "SecondEngine | None":
    """Return the second OCR engine, or None if this host has none."""
    if limits.second_engine is None:
        return None
    from .ocr.second_engine.client import SecondEngine  # noqa: PLC0415 - many hosts have none

    return SecondEngine(limits.second_engine, limits.second_engine_seconds)


def _first_look_seconds(limits: ReadingLimits) -> float:
    return min(limits.first_look_seconds, limits.page_seconds)


def _read_scan(  # noqa: PLR0913 - the page, and the engines that read it
    part: ProbedDocument,
    probed: PageReading,
    limits: ReadingLimits,
    engines: "LanguageEngines",
    *,
    language: str,
    second: "SecondEngine | None",
    left_out: LeftOut,
) -> KeptPage:
    """Read one page of `part` by OCR. `language` is the expected one."""
    from .images.normalise.variants import reduce_resolution  # noqa: PLC0415 - as the next one
    from .ocr.page import read_page_image  # noqa: PLC0415 - most documents have no scan

    try:
        raster = _load_raster(part, probed.number, limits, in_colour=True)
        raster = reduce_resolution(raster) if left_out.resolution else raster
        page = probed
        if not page.width:  # the size of an image file is known once it is decoded
            page = replace(page, width=raster.width, height=raster.height)
        page = read_page_image(
            raster,
            page,
            engines.get(language),
            limits.engine_seconds,
            languages=engines,
            expected=language,
            second_engine=second,
            stages=PageStages(probed.number, left_out.stages),
        )
    except PAGE_ERRORS as error:
        page = replace(probed, error=describe_page_error(error))
    return KeptPage(page, engines.version, second.note if second else "")


def find_separator_codes(
    part: ProbedDocument, limits: ReadingLimits
) -> Mapping[int, tuple[str, ...]]:
    """Return the separator codes on the pages of `part`, by the number of the page.

    The pages are rendered at a low resolution and not read. A page that cannot be rendered is left
    out, because the complete reading will report it.
    """
    found = {}
    for page in part.pages:
        with limit_page_time(limits.page_seconds):
            try:
                raster = _load_raster(part, page.number, limits, max_dpi=CODES_DPI)
            except PAGE_ERRORS:
                continue
            if codes := read_separator_codes(raster):
                found[page.number] = codes
    return found


@contextmanager
def _open_probe(
    path: Path,
    rewritten: Path,
    limits: ReadingLimits,
    *,
    pages: range | None = None,
    left_out: LeftOut = NOTHING,
) -> Iterator[ProbedDocument | Unreadable]:
    """Probe a document that stays open for the block, in which lazy words and marks are found."""
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        yield media_type
    elif media_type.is_office or media_type.is_container:
        # Its pages are those of its rendition, or of its entries (`indirect_files`).
        yield Unreadable("UNSUPPORTED_TYPE", {"found": name_media_type(media_type)})
    elif media_type is not MediaType.PDF:
        yield _probe_image_file(path, media_type, limits, pages)
    else:
        with limit_page_time(limits.page_seconds):
            opened = open_pdf(path, rewritten, limits, with_form=not left_out.form)
        if isinstance(opened, Unreadable):
            yield opened
        else:
            with closing(opened.pdf):
                yield _probe_pdf(opened, path, limits, pages, left_out)


def _apply(document: ProbedDocument, function: Callable[[ProbedDocument], Result]) -> Result:
    """Return `function(document)`.

    A page that fails in a lazy search becomes unreadable. If a search exceeds its time, its page
    goes on without it.
    """
    while True:
        try:
            return function(document)
        except LazyReadError as error:
            if error.stage:
                document = document.without_stage(PageStage(error.number, error.stage))
            else:
                document = document.with_unreadable_page(error.number, error.reason)


def _evaluate_pages(document: ProbedDocument) -> ProbedDocument:
    """Return the document with words and marks that can be sent to another process."""
    return _apply(document, lambda probe: replace(probe, pages=tuple(map(evaluate, probe.pages))))


def _probe_image_file(
    path: Path, media_type: MediaType, limits: ReadingLimits, pages: range | None
) -> ProbedDocument | Unreadable:
    """Return the pages of an image file, all of which need OCR."""
    with limit_page_time(limits.page_seconds):
        frames = count_frames(path, media_type, limits)
    if isinstance(frames, Unreadable):
        return frames
    numbers = tuple(_select(frames, pages))
    empty = tuple(PageReading(number, 0.0, 0.0, "", TextSource.OCR) for number in numbers)
    return ProbedDocument(media_type, path, empty, scans=numbers)


def _select(page_count: int, pages: range | None) -> Iterator[int]:
    """Yield the numbers of the pages of a file that are to be read. None: all of them."""
    return (n for n in range(1, page_count + 1) if pages is None or n in pages)


def _probe_pdf(
    opened: OpenedPdf,
    original: Path,
    limits: ReadingLimits,
    selected: range | None,
    left_out: LeftOut,
) -> ProbedDocument | Unreadable:
    """Probe the selected pages of a PDF, or all pages, its form and its signatures.

    The values of form fields are left out if pages were selected, because it is not known on which
    page a field is. What a page shows of them is in its text.

    If the form is left out, the document has its printed text without form values and annotations.
    The flag `unread-form` tells the rules about it.
    """
    pages = OpenPages(opened.pdf)
    has_form = opened.pdf.get_formtype() != pdfium.FORMTYPE_NONE  # before pages are flattened
    flags = _find_flags(original, limits, left_out)
    if "portfolio" in flags:
        # Its embedded files become documents (`documents.expansion`), so they are no surprise.
        flags -= {"embedded-file"}
    if "xfa-dynamic" in flags:
        # Its pages only say "please wait", because Adobe Reader replaces them with the form.
        return Unreadable("DYNAMIC_XFA_FORM")
    numbers = list(_select(len(opened.pdf), selected))
    probes = [_probe_page(pages, number, limits, left_out) for number in numbers]
    values: Mapping[str, str] = {}
    is_form_unread = left_out.form or left_out.has(0, Stage.FORM_VALUES)
    if has_form and selected is None and not is_form_unread:
        with limit_page_time(limits.page_seconds), note_work(0, Stage.FORM_VALUES):
            from .pdf.form_values import read_form_values  # noqa: PLC0415 - most have no form

            values = read_form_values(opened.path)
    if is_form_unread and (has_form or any(map(pages.has_annotations, numbers))):
        flags |= {"unread-form"}
    signatures: tuple[DigitalSignature, ...] = ()
    if "digital-signature" in flags:
        signatures = _read_signatures(opened, original, pages, limits, left_out)
    probed = ProbedDocument(
        MediaType.PDF,
        opened.path,
        tuple(probe.page for probe in probes),
        scans=tuple(probe.page.number for probe in probes if probe.needs_ocr),
        fields=values,
        flags=flags,
        signatures=signatures,
        repaired=opened.repaired,
        with_form=not left_out.form,
    )
    return reduce(ProbedDocument.without_stage, left_out.stages, probed)


def _find_flags(original: Path, limits: ReadingLimits, left_out: LeftOut) -> frozenset[str]:
    """Return the flags of the filed bytes. A repaired copy may have lost a part of them."""
    if left_out.has(0, Stage.ACTIVE_CONTENT):
        return frozenset({"unsearched"})
    with limit_page_time(limits.page_seconds), note_work(0, Stage.ACTIVE_CONTENT):
        if is_static(original):
            return frozenset()
        from .pdf.active_content import find_active_content  # noqa: PLC0415 - seldom needed

        return find_active_content(original)


def _probe_page(
    pages: OpenPages, number: int, limits: ReadingLimits, left_out: LeftOut
) -> PageProbe:
    if left_out.has(number, Stage.LOOK):
        return PageProbe(make_unreadable_page(number, "it took too long"))
    try:
        with limit_page_time(_first_look_seconds(limits)), note_work(number, Stage.LOOK):
            return probe_page(pages, number, limits, with_form=not left_out.form)
    except PAGE_ERRORS as error:
        return PageProbe(make_unreadable_page(number, describe_page_error(error)))
    except LazyReadError as error:
        return PageProbe(make_unreadable_page(number, error.reason))


def _read_signatures(
    opened: OpenedPdf,
    original: Path,
    pages: OpenPages,
    limits: ReadingLimits,
    left_out: LeftOut,
) -> tuple[DigitalSignature, ...]:
    """Return the digital signatures of a file, or the reason why they are not validated."""
    if left_out.form or left_out.has(0, Stage.SIGNATURES):
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="it took too long"),)
    if opened.repaired:
        return (DigitalSignature(SignatureResult.UNCHECKED, detail="the file is damaged"),)
    from .pdf.digital_signatures import validate_digital_signatures  # noqa: PLC0415 - few files are signed

    def to_box(number: int, rect: PdfRect) -> Box:
        return make_point_transform(pages.load(number))(rect)

    with limit_page_time(_first_look_seconds(limits)), note_work(0, Stage.SIGNATURES):
        return validate_digital_signatures(original, limits.trusted_issuers, to_box)


def _load_raster(
    part: ProbedDocument,
    number: int,
    limits: ReadingLimits,
    *,
    max_dpi: float = inf,
    in_colour: bool = False,
) -> PageRaster:
    """Return the raster of page `number`, from 1. Raises one of PAGE_ERRORS."""
    if part.media_type is not MediaType.PDF:
        return load_frame(part.path, part.media_type, number, limits)
    with open_document(part.path, with_form=part.with_form) as pdf:
        page = pdf.get_page(number - 1)
        try:
            images = list_images(page, limits)
            dpi = min(choose_ocr_dpi(page, images, limits), max_dpi)
            return render_page(page, dpi, limits, in_colour=in_colour)
        finally:
            page.close()
