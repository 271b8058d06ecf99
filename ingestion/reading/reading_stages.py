"""Defines the stages in which a page is read, and limits the processor time of each.

A stage that exceeds its time is left out: the page goes on with what is known, and says what is
not. The rules then let a person look at it. The budgets are about ten times the longest time that
a page of `bench.stage_times` takes for the stage.

A Python function ends when its time is over. A function of C that does not return is ended with its
process (`process_limits.limit_page_time`). The process notes in a file what it works on, so that
the page is read again without the stage that ended it.
"""

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")

_NOTE_LENGTH = 32  # bytes
_REPEAT_SECONDS = 0.5  # of the processor, between two attempts to end a stage


class Stage(StrEnum):
    """A part of the reading of a file or of a page. The values are stored."""

    ACTIVE_CONTENT = "active content"  #: Its search in the file
    FORM_VALUES = "form values"  #: Of the file
    SIGNATURES = "signatures"  #: Digital ones of the file
    LOOK = "look"  #: At the objects, annotations and text layer of a PDF page
    OCR = "ocr"  #: Its rendering, correction and OCR
    PLACES = "places"  #: Of the words of its text layer
    MARKS = "marks"
    STAMPS = "stamps"
    STRIKE_OUTS = "strike-outs"
    OMITTED_WORDS = "omitted words"  #: Lines that OCR reads a second time
    CHECK_BOXES = "check boxes"
    FORM = "form"  #: The page of a registered form that it is
    CODES = "codes"  #: Of separator sheets


# Budgets in seconds of the processor. Other stages are limited by the time of a page.
STAGE_SECONDS: Mapping[Stage, float] = MappingProxyType(
    {
        Stage.PLACES: 5.0,
        Stage.MARKS: 5.0,
        Stage.STAMPS: 8.0,
        Stage.STRIKE_OUTS: 5.0,
        Stage.OMITTED_WORDS: 8.0,
        Stage.CHECK_BOXES: 5.0,
        Stage.FORM: 5.0,
        Stage.CODES: 5.0,
    }
)


class PageStage(NamedTuple):
    """A stage of one page, or of the file."""

    page: int  # from 1; 0 for the file
    stage: Stage

    @property
    def can_be_left_out(self) -> bool:
        """Return whether the page or the file can be read without the stage."""
        return self.stage not in {Stage.LOOK, Stage.OCR}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Lists what another look leaves out, because an earlier one took too long."""

    form: bool = False  # of a PDF, with its annotations
    resolution: bool = False  # a part of that of a scan
    stages: frozenset[PageStage] = frozenset()

    def has(self, page: int, stage: Stage) -> bool:
        """Return whether a stage of a page or, with 0, of the file is left out."""
        return PageStage(page, stage) in self.stages

    def and_form(self) -> "LeftOut":
        """Return the same with the form."""
        return replace(self, form=True)

    def and_stage(self, stage: PageStage) -> "LeftOut":
        """Return the same with another stage."""
        return replace(self, stages=self.stages | {stage})


NOTHING = LeftOut()


class StageOutOfTime(Exception):
    """A stage took longer than its budget. Stays in the parser process."""


class PageStages:
    """Runs the stages of one page, and knows which of them did not finish."""

    def __init__(self, page: int, left_out: Collection[PageStage] = ()) -> None:
        self._page, self._left_out = page, left_out
        self.unfinished: tuple[Stage, ...] = ()

    def run(self, stage: Stage, work: Callable[[], Result]) -> Result | None:
        """Return the result of `work`, or None if it exceeds its time."""
        if PageStage(self._page, stage) not in self._left_out:
            with suppress(StageOutOfTime), limit_stage(self._page, stage):
                return work()
        self.unfinished += (stage,)
        return None


@contextmanager
def limit_stage(page: int, stage: Stage) -> Iterator[None]:
    """Raise StageOutOfTime in the block if it takes longer than the budget of the stage.

    The stage is noted as the work of this process. During a stage within another one, only the
    time of the inner one counts. Outside the main thread, there is no limit.

    Python ignores an exception in a finaliser or in a callback of its garbage collection. If the
    time ends there, the next attempt ends the stage.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    runs = True

    def end(_number: int, _frame: FrameType | None) -> None:
        if runs:  # otherwise the time ended together with the block
            raise StageOutOfTime(stage)

    handler = signal.signal(signal.SIGVTALRM, end)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, STAGE_SECONDS[stage], _REPEAT_SECONDS)
    try:
        with note_work(page, stage):
            yield
    finally:
        runs = False
        signal.signal(signal.SIGVTALRM, handler)
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)


class _WorkNote:
    """The file in which a parser process notes what it works on."""

    file: int | None = None  # file descriptor
    content = b""


def open_work_note(folder: Path) -> None:
    """Let this process note its work in a file of the folder."""
    _WorkNote.file = os.open(_note_path(folder, os.getpid()), os.O_CREAT | os.O_WRONLY, 0o600)


@contextmanager
def note_work(page: int, stage: Stage) -> Iterator[None]:
    """Note that this process works on a stage of a page in this block."""
    before = _WorkNote.content
    _write_note(f"{page} {stage}".encode())
    try:
        yield
    finally:
        _write_note(before)


def _write_note(content: bytes) -> None:
    _WorkNote.content = content
    if _WorkNote.file is not None:
        os.pwrite(_WorkNote.file, content.ljust(_NOTE_LENGTH), 0)


def take_work_note(folder: Path, pid: int) -> PageStage | None:
    """Return what a process that ended worked on, or None. Its note is removed."""
    path = _note_path(folder, pid)
    with suppress(OSError, ValueError):
        page, _, stage = path.read_text("utf-8").strip().partition(" ")
        path.unlink()
        return PageStage(int(page), Stage(stage))
    return None


def _note_path(folder: Path, pid: int) -> Path:
    return folder / f"work-of-{pid}"
