"""The OCR engines: tesseract in this process (tesserocr), or as a program (pytesseract).

Same settings, same results up to tesseract's version. tesserocr is a quarter cheaper and is what
"auto" takes; pytesseract is there where its wheel fails. Both answer in tesseract's own table.
"""

import csv
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytesseract
from PIL import Image

from ingestion.reading.images.render import POINTS_PER_INCH, GreyArray, PageUnreadable
from ingestion.reading.results import Box, Word


class SegmentationMode(IntEnum):
    """What tesseract is to expect: its page segmentation modes."""

    AUTO = 3  #: anything. Not 1, which looks for the orientation: that costs 23 %, finds little
    SINGLE_BLOCK = 6  #: one column of lines
    SPARSE_TEXT = 11  #: words here and there: a lone line above a rule, where BLOCK may see none


MIN_UPRIGHT_CONFIDENCE = 70.0  # confidence; a page below it may lie upside down
LSTM_ONLY = 1
TESSDATA = ("usr/share/tesseract-ocr/*/tessdata", "usr/share/tessdata", "usr/local/share/tessdata")
WORD_LEVEL = "5"


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word on a picture. Pixels from its top left corner."""

    text: str
    confidence: float  # 0 to 100
    left: int
    top: int
    width: int
    height: int
    line: tuple[int, int, int]  # block, paragraph, line: equal on the same line

    def to_word(self, dpi: float) -> Word:
        scale = POINTS_PER_INCH / dpi
        right, bottom = self.left + self.width, self.top + self.height
        box = Box(self.left * scale, self.top * scale, right * scale, bottom * scale)
        return Word(self.text, box, self.confidence)


class OcrFailed(PageUnreadable):
    """The engine failed at a page that could be drawn: no fault of its file."""


class OcrTimeout(OcrFailed):
    def __init__(self) -> None:
        super().__init__("OCR took too long")


class Engine(Protocol):
    version: str

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        """In reading order. Raises OcrFailed."""
        ...


class Pytesseract:
    """One tesseract program per page, in the process group of the child that starts it."""

    def __init__(self, languages: str) -> None:
        if missing := set(languages.split("+")) - set(pytesseract.get_languages()):
            raise _missing(missing)
        ours, theirs = (
            importlib.metadata.version("pytesseract"),
            pytesseract.get_tesseract_version(),
        )
        self.version = f"pytesseract {ours}, tesseract {theirs}, {languages}"
        self._languages = languages

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        picture: Any = Image.fromarray(grey)
        picture.format = "PPM"  # handed over as it is; pytesseract would compress it to PNG
        config = f"--psm {mode} --oem {LSTM_ONLY} --dpi {dpi}"
        try:
            table = pytesseract.image_to_data(
                picture, lang=self._languages, config=config, timeout=seconds
            )
        except pytesseract.TesseractError as error:
            raise OcrFailed(f"OCR failed: {error.message[:100]}") from error
        except RuntimeError as error:  # its only sign of a timeout
            raise OcrTimeout from error
        return list(parse_tsv(table))


class Tesserocr:
    """Tesseract in this process. Its wheel brings the library, and none of its data."""

    def __init__(self, languages: str) -> None:
        import tesserocr  # noqa: PLC0415 - its library may not load where the wheel is not fit

        # It writes of boxes that it cuts, to everybody's stderr, and what fails is raised here.
        tesserocr.set_leptonica_log_level(tesserocr.LeptLogLevel.NONE)
        folder = find_tessdata(languages)
        ours, theirs = importlib.metadata.version("tesserocr"), tesserocr.tesseract_version()
        self.version = f"tesserocr {ours}, {theirs.splitlines()[0]}, {languages}"
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
        began = time.monotonic()
        self._api.SetPageSegMode(mode)
        self._api.SetImage(Image.fromarray(grey))
        self._api.SetSourceResolution(dpi)
        # Layout analysis cannot be interrupted; the page's alarm is what bounds it.
        if not self._api.Recognize(int(seconds * 1000)):
            late = time.monotonic() - began >= seconds
            raise OcrTimeout if late else OcrFailed("OCR failed")
        return list(parse_tsv(self._api.GetTSVText(0)))


@cache
def get_engine(name: str, languages: str) -> Engine:
    """The engine of this process: auto, tesserocr or pytesseract.

    Raises LookupError for a language that is not installed: that is never the page's fault.
    """
    if name == "auto":
        name = "tesserocr" if importlib.util.find_spec("tesserocr") else "pytesseract"
    engines: dict[str, type[Tesserocr | Pytesseract]] = {
        "tesserocr": Tesserocr,
        "pytesseract": Pytesseract,
    }
    return engines[name](languages)


def parse_tsv(table: str) -> Iterator[OcrWord]:
    """The words of tesseract's TSV: level page block par line word left top width height conf text.

    tesserocr leaves out the heading.
    """
    for row in csv.reader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if len(row) != 12 or row[0] != WORD_LEVEL or not row[11].strip():
            continue
        block, paragraph, line, _, left, top, width, height = map(int, row[2:10])
        where = (block, paragraph, line)
        yield OcrWord(row[11].strip(), float(row[10]), left, top, width, height, where)


def find_tessdata(languages: str) -> Path:
    """The folder that the program reads, too: what TESSDATA_PREFIX names, or a distribution's.

    Raises LookupError for a language that is in none.
    """
    named = os.environ.get("TESSDATA_PREFIX")
    folders = [Path(named)] if named else _distributed()
    installed = [{each.stem for each in folder.glob("*.traineddata")} for folder in folders]
    wanted = set(languages.split("+"))
    for folder, languages_there in zip(folders, installed, strict=True):
        if wanted <= languages_there:
            return folder
    raise _missing(wanted - max(installed, key=len, default=set()))


def _distributed() -> list[Path]:
    """The newest first."""
    found = (folder for pattern in TESSDATA for folder in Path("/").glob(pattern))
    return sorted(found, reverse=True)


def _missing(languages: set[str]) -> LookupError:
    return LookupError(f"tesseract has no data for {', '.join(sorted(languages))}")
