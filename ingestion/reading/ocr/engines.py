"""Runs the OCR engines: Tesseract in this process (tesserocr) or as a program (pytesseract).

Both use the same settings and give the same results, apart from differences between versions of
Tesseract. tesserocr needs a quarter less processor time, and "auto" selects it. pytesseract reads
where the library of tesserocr cannot be loaded, and pages at which a parser process died: a program
that crashes ends alone ("isolated"). Both engines return Tesseract's table of words (TSV).
"""

import csv
import importlib
import importlib.metadata
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Protocol

import pytesseract
from PIL import Image

from ingestion.reading.images.render import POINTS_PER_INCH, GreyArray, PageUnreadable
from ingestion.reading.limits import ISOLATED
from ingestion.reading.ocr.language_data import find_tessdata, make_missing_error
from ingestion.reading.results import Box, Word


class SegmentationMode(IntEnum):
    """Tesseract's page segmentation modes, by their numbers in Tesseract."""

    SCRIPT_ONLY = 0  #: The orientation and the script of the page, without its text.
    # Mode 1 also detects the orientation, which costs 23 % more and finds little.
    AUTO = 3  #: Any layout.
    SINGLE_COLUMN = 4  #: Lines of any size, as on a stamp.
    SINGLE_BLOCK = 6  #: One column of lines.
    SINGLE_LINE = 7  #: One line, as of a stamp that is turned upright.
    SPARSE_TEXT = 11  #: Words anywhere. It reads a lone line above a rule, which 6 may omit.


MIN_WORD_CONFIDENCE = 70.0  # 0 to 100, from which on a word counts as read with certainty
DISPUTED_CONFIDENCE = 60.0  # of a word whose reading is contradicted; less than is certain
TESSERACT = "tesseract"  # in the words of both engines
LSTM_ONLY = 1  # Tesseract's OCR engine mode for its neural network
TSV_COLUMNS = 12
TSV_WORD_LEVEL = "5"
MAX_WAIT_FACTOR = 6  # of the time of the clock to the processor time, on a busy host
MAX_ERROR_CHARACTERS = 100  # of an engine's message that is recorded


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word that OCR read from a raster, in pixels from the raster's top left corner."""

    text: str
    confidence: float  # 0 to 100
    left: int
    top: int
    width: int
    height: int
    line: tuple[int, int, int]  # block, paragraph and line, which are equal on the same line
    other: str = ""  # what the other engine read instead, if they read different numbers

    def to_word(self, dpi: float) -> Word:
        """Return the word with its box in points."""
        scale = POINTS_PER_INCH / dpi
        right, bottom = self.left + self.width, self.top + self.height
        box = Box(self.left * scale, self.top * scale, right * scale, bottom * scale)
        return Word(self.text, box, self.confidence, TESSERACT, self.other)


class OcrFailed(PageUnreadable):
    """The engine failed at a page that was rendered, which is not the fault of its file."""


class OcrTimeout(OcrFailed):
    """The engine took longer than it was given."""

    def __init__(self) -> None:
        super().__init__("OCR took too long")


class Engine(Protocol):
    """An OCR engine. `version` names the engine, its version and the languages."""

    version: str

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        """Return the words of a raster in reading order.

        `seconds` is the limit of processor time. Raises OcrTimeout if it is exceeded, and
        OcrFailed.
        """
        ...


class Pytesseract:
    """One Tesseract program for each page, in the process group of the parser process.

    Raises LookupError for a language that is not installed.
    """

    def __init__(self, languages: str) -> None:
        if missing := set(languages.split("+")) - set(pytesseract.get_languages()):
            raise make_missing_error(missing)
        package = importlib.metadata.version("pytesseract")
        program = pytesseract.get_tesseract_version()
        self.version = f"pytesseract {package}, tesseract {program}, {languages}"
        self._languages = languages

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        """Return the words of a raster in reading order, within `seconds` of the clock.

        Raises OcrTimeout and OcrFailed.
        """
        image: Any = Image.fromarray(grey)
        image.format = "PPM"  # passed uncompressed, where pytesseract would choose PNG
        config = f"--psm {mode} --oem {LSTM_ONLY} --dpi {dpi}"
        try:
            table = pytesseract.image_to_data(
                image, lang=self._languages, config=config, timeout=seconds
            )
        except pytesseract.TesseractError as error:
            raise OcrFailed(f"OCR failed: {error.message[:MAX_ERROR_CHARACTERS]}") from error
        except RuntimeError as error:  # how pytesseract reports a timeout
            raise OcrTimeout from error
        return list(parse_tsv(table))


class Tesserocr:
    """Tesseract in this process. Its wheel contains the library without the language data.

    Raises LookupError for a language that is not installed.
    """

    def __init__(self, languages: str) -> None:
        import tesserocr  # noqa: PLC0415 - its library fails to load on some platforms

        # Leptonica writes messages about clipped boxes to stderr. Failures are raised here.
        tesserocr.set_leptonica_log_level(tesserocr.LeptLogLevel.NONE)
        folder = find_tessdata(languages)
        package = importlib.metadata.version("tesserocr")
        library = tesserocr.tesseract_version().splitlines()[0]
        self.version = f"tesserocr {package}, {library}, {languages}"
        self._api = tesserocr.PyTessBaseAPI(
            path=f"{folder}/",
            lang=languages,
            psm=SegmentationMode.AUTO,
            oem=tesserocr.OEM.LSTM_ONLY,
        )

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        """Return the words of a raster in reading order.

        `limit_page_time` limits the processor time. Tesseract itself counts the time of the clock,
        and gets that of a host on which a process waits most of the time. Raises OcrTimeout and
        OcrFailed.
        """
        seconds *= MAX_WAIT_FACTOR
        began = time.monotonic()
        self._api.SetPageSegMode(mode)
        self._api.SetImage(Image.fromarray(grey))
        self._api.SetSourceResolution(dpi)
        # The time limit does not interrupt layout analysis, which `limit_page_time` bounds.
        try:
            if not self._api.Recognize(int(seconds * 1000)):
                is_timeout = time.monotonic() - began >= seconds
                raise OcrTimeout if is_timeout else OcrFailed("OCR failed")
            return list(parse_tsv(self._api.GetTSVText(0)))
        finally:
            self._api.Clear()  # Otherwise the image and its results stay in memory.


@dataclass(frozen=True, slots=True)
class DetectedScript:
    """The script of a page, by Tesseract's name, and how certain the detection is.

    The certainties are Tesseract's own measures, which have no upper limit.
    """

    script: str
    script_certainty: float
    rotation: int  # degrees clockwise by which the page has to be rotated: 0, 90, 180 or 270
    rotation_certainty: float


def detect_script(name: str, grey: GreyArray, dpi: int, seconds: float) -> DetectedScript | None:
    """Return the script of a raster; None if it has too few letters or the data is missing.

    `name` is that of the engine, as in `get_engine`.
    """
    if choose_engine(name) == "pytesseract":
        return _detect_with_program(grey, dpi, seconds)
    api = _get_script_detector()
    if api is None:
        return None
    api.SetImage(Image.fromarray(grey))
    api.SetSourceResolution(dpi)
    try:
        found = api.DetectOrientationScript()
    finally:
        api.Clear()
    if found is None:
        return None
    rotation = -int(found["orient_deg"]) % 360
    return DetectedScript(
        found["script_name"], found["script_conf"], rotation, found["orient_conf"]
    )


@cache
def _get_script_detector() -> Any:
    import tesserocr  # noqa: PLC0415 - see Tesserocr

    try:
        folder = find_tessdata("osd")
    except LookupError:
        return None
    return tesserocr.PyTessBaseAPI(path=f"{folder}/", lang="osd", psm=SegmentationMode.SCRIPT_ONLY)


def _detect_with_program(grey: GreyArray, dpi: int, seconds: float) -> DetectedScript | None:
    image: Any = Image.fromarray(grey)
    image.format = "PPM"
    try:
        found = pytesseract.image_to_osd(
            image, config=f"--dpi {dpi}", timeout=seconds, output_type=pytesseract.Output.DICT
        )
    except (pytesseract.TesseractError, RuntimeError):  # few letters, no data, or a timeout
        return None
    return DetectedScript(
        found["script"], found["script_conf"], int(found["rotate"]), found["orientation_conf"]
    )


def choose_engine(name: str) -> str:
    """Return the engine that a setting selects: tesserocr or pytesseract.

    "auto" stands for tesserocr where its library can be loaded. ISOLATED stands for pytesseract if
    Tesseract's program is installed, and otherwise for the same as "auto".
    """
    if name == ISOLATED:
        name = "pytesseract" if shutil.which(pytesseract.pytesseract.tesseract_cmd) else "auto"
    if name == "auto":
        return "tesserocr" if _is_library_loadable() else "pytesseract"
    return name


@cache
def _is_library_loadable() -> bool:
    """Return whether tesserocr is installed and its library can be loaded on this platform."""
    try:
        importlib.import_module("tesserocr")
    except ImportError:  # also of a shared library that is missing or too new
        return False
    return True


@cache
def get_engine(name: str, languages: str) -> Engine:
    """Return the engine of this process by a name that `choose_engine` knows.

    Raises LookupError for a language that is not installed. That is a fault of the installation
    and never of a page.
    """
    engines: dict[str, type[Tesserocr | Pytesseract]] = {
        "tesserocr": Tesserocr,
        "pytesseract": Pytesseract,
    }
    return engines[choose_engine(name)](languages)


def parse_tsv(table: str) -> Iterator[OcrWord]:
    """Yield the words of Tesseract's table.

    Its columns are level, page, block, paragraph, line, word, left, top, width, height, confidence
    and text. tesserocr omits the heading.
    """
    for row in csv.reader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if len(row) != TSV_COLUMNS or row[0] != TSV_WORD_LEVEL or not row[11].strip():
            continue
        block, paragraph, line, _, left, top, width, height = map(int, row[2:10])
        yield OcrWord(
            row[11].strip(), float(row[10]), left, top, width, height, (block, paragraph, line)
        )
