"""Parser processes that die in all ways, and the documents that this affects."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import zlib
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pikepdf
import pytest
from pebble.pool.process import PoolManager

from ingestion.core.errors import ReadingFault
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge_pages
from ingestion.reading.ocr.engines import choose_engine
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
    Unreadable,
)
from ingestion.reading.tasks import read_scans
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import (
    LIMITS,
    concatenate,
    make_pdf,
    make_scan,
    make_spreadsheet,
    read,
    render,
    save,
)
from tests.ingestion.reading.pool_processes import child_pids, group_members, wait_until

SHA256 = "0" * 64
A_PROGRAM = ReadingLimits(engine="pytesseract")  # Tesseract is a process that the tests can find


@pytest.fixture(scope="module")
def scanned():
    return make_scan(render(make_pdf(signed=True), dpi=300), dpi=300)


def reading_tesseract() -> int:
    """Return the parser process whose Tesseract program runs, or 0."""
    leaders = child_pids()
    for pid in group_members(leaders):
        if pid not in leaders:
            with suppress(ProcessLookupError):  # it has just ended
                return os.getpgid(pid)
    return 0


@pytest.mark.slow
async def test_the_pool_reads_a_document_as_this_process_does(tmp_path, scanned):
    path = save(tmp_path, scanned)
    async with Reader(LIMITS) as reader:
        assert await reader.read(path, SHA256) == read(path)


@pytest.mark.slow
async def test_pages_are_in_order_regardless_of_the_process_that_read_them(tmp_path):
    pages = [make_scan(render(make_pdf(lines=(f"This is sheet {n} of 5",)))) for n in range(1, 6)]
    async with Reader(LIMITS) as reader:
        reading = await reader.read(save(tmp_path, concatenate(pages)), SHA256)
    assert [page.text.splitlines()[0] for page in reading.pages] == [
        f"This is sheet {n} of 5" for n in range(1, 6)
    ]


def find_pages_at_work():
    """Return the pages on which the parser processes work at the moment."""
    pages = set()
    for pid in child_pids():
        for note in Path(tempfile.gettempdir()).glob(f"*/work-of-{pid}"):
            with suppress(FileNotFoundError):  # The process has just finished its page.
                pages.update(note.read_text().split()[:1])
    return pages


@pytest.mark.slow
async def test_as_many_pages_of_one_document_are_read_at_once_as_there_are_processes(tmp_path):
    page = make_scan(render(make_pdf(lines=("This is a sheet of paper",))))
    path = save(tmp_path, concatenate([page] * 12))
    max_at_work = 0
    async with Reader(replace(LIMITS, processes=3)) as reader:
        reading = asyncio.create_task(reader.read(path, SHA256))
        while not reading.done():
            max_at_work = max(max_at_work, len(find_pages_at_work()))
            await asyncio.sleep(0.01)
        assert len(child_pids()) == 3
    assert max_at_work == 3
    assert [page.number for page in reading.result().pages] == list(range(1, 13))


async def test_a_page_that_never_finishes_affects_only_its_own_document(tmp_path):
    sound = save(tmp_path, make_pdf(), "sound.pdf")
    bomb = save(tmp_path, hostile.tiling(), "bomb.pdf")
    async with Reader(ReadingLimits(page_seconds=2)) as reader:
        paths = [sound, bomb, sound, sound]
        first, stuck, *others = await asyncio.gather(*(reader.read(p, SHA256) for p in paths))
    assert stuck.code == "PARSER_FAILURE"
    assert f"exit code {-signal.SIGPROF}" in stuck.facts["reason"]
    assert all(isinstance(reading, DocumentReading) for reading in (first, *others))


def add_large_pictures(content, count):
    """Return a PDF with this number of pale pictures, 40 MB each, behind each signature."""
    width, height, output = 3000, 4500, io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as pdf:
        for page in pdf.pages:
            for n in range(count):
                pale = zlib.compress(bytes([240 + n]) * (width * height * 3), 1)
                picture = pikepdf.Stream(
                    pdf,
                    pale,
                    Type=pikepdf.Name.XObject,
                    Subtype=pikepdf.Name.Image,
                    Width=width,
                    Height=height,
                    ColorSpace=pikepdf.Name.DeviceRGB,
                    BitsPerComponent=8,
                    Filter=pikepdf.Name.FlateDecode,
                )
                name = page.add_resource(picture, pikepdf.Name.XObject)
                draw = f"q 100 0 0 20 100 {205 + 2 * n} cm {name} Do Q"
                page.contents_add(pdf.make_stream(draw.encode()), prepend=True)
        pdf.save(output)
    return output.getvalue()


@pytest.mark.slow
async def test_pages_with_large_pictures_are_read_one_after_the_other_in_little_memory(tmp_path):
    signed = make_pdf(signed=True, pages=4)
    async with Reader(LIMITS) as reader:
        plain = await reader.read(save(tmp_path, signed), SHA256)
        reading = await reader.read(save(tmp_path, add_large_pictures(signed, 6)), SHA256)
    assert [page.text for page in reading.pages] == [page.text for page in plain.pages]
    assert all(page.marks for page in reading.pages)


@pytest.mark.slow
async def test_a_form_that_takes_too_long_to_draw_is_left_out_and_flagged(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields())
    async with Reader(ReadingLimits(first_look_seconds=1)) as reader:
        reading = await reader.read(path, SHA256)
    assert isinstance(reading, DocumentReading)
    assert (reading.text, reading.flags) == (hostile.INNOCENT_TEXT, {"unread-form"})


@pytest.mark.slow
async def test_a_page_whose_form_was_not_drawn_is_not_called_blank(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields(contents=b""))
    async with Reader(ReadingLimits(first_look_seconds=1)) as reader:
        reading = await reader.read(path, SHA256)
    assert [(page.text, page.is_blank) for page in reading.pages] == [("", False)]


async def test_a_process_that_needs_too_much_memory_affects_only_its_own_document(tmp_path):
    sound, bomb = (
        save(tmp_path, make_pdf(), "sound.pdf"),
        save(tmp_path, hostile.flate_bomb(), "bomb.pdf"),
    )
    async with Reader(ReadingLimits(memory_bytes=900_000_000)) as reader:
        outcomes = [await reader.read(path, SHA256) for path in (sound, bomb, sound)]
    assert [getattr(outcome, "code", "read") for outcome in outcomes] == [
        "read",
        "PARSER_FAILURE",
        "read",
    ]


def read_with_a_crashing_library(part, limits, *left_out):
    """Read scans, and die like a process whose OCR library has a defect if it is used."""
    if choose_engine(limits.engine) == "tesserocr":
        os.kill(os.getpid(), signal.SIGSEGV)
    return read_scans(part, limits, *left_out)


@pytest.mark.parametrize("pages", [1, pytest.param(3, marks=pytest.mark.slow)])
async def test_pages_at_which_the_ocr_library_crashes_are_read_by_its_program(
    tmp_path, monkeypatch, pages
):
    scan = make_scan(render(make_pdf(lines=("Approved by the board",)), dpi=150), dpi=150)
    monkeypatch.setattr(tasks, "read_scans", read_with_a_crashing_library)
    async with Reader(ReadingLimits(processes=1)) as reader:
        reading = await reader.read(save(tmp_path, concatenate([scan] * pages)), SHA256)
    assert [page.text.splitlines()[0] for page in reading.pages] == [
        "Approved by the board"
    ] * pages
    assert reading.engine.startswith("pytesseract")


async def test_a_task_over_its_time_is_stopped_and_charged_to_its_document(tmp_path):
    limits = ReadingLimits(page_seconds=60, task_seconds=1)
    async with Reader(limits) as reader:
        outcome = await reader.read(save(tmp_path, hostile.tiling()), SHA256)
    assert "more than 1 seconds" in outcome.facts["reason"]


async def test_a_process_killed_at_work_loses_no_document_and_leaves_no_tesseract(
    tmp_path, scanned
):
    async with Reader(A_PROGRAM) as reader:
        reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
        child = await wait_until(reading_tesseract)
        os.kill(child, signal.SIGKILL)
        assert "SLX-301" in (await reading).text
        await wait_until(lambda: not group_members({child}))


async def test_processes_killed_while_idle_are_replaced(tmp_path):
    path = save(tmp_path, make_pdf())
    async with Reader(LIMITS) as reader:
        before = await reader.read(path, SHA256)
        for child in child_pids():
            os.kill(child, signal.SIGKILL)
        assert await reader.read(path, SHA256) == before


def die_with_the_locks() -> None:
    """Die like a process that is killed while it holds the locks of the pool."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and "channel" not in frame.f_locals:
        frame = frame.f_back
    assert frame is not None
    assert frame.f_locals["channel"].mutex.acquire(timeout=10)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(110)  # without our looking, Pebble's children take two minutes to give up
async def test_a_process_killed_with_the_locks_does_not_affect_the_others():
    pool = ParserProcesses(LIMITS)
    try:
        assert isinstance(await pool.run(die_with_the_locks), ProcessKilled)
        assert isinstance(await pool.run(os.getpid), int)
    finally:
        await pool.close()


class DiesOfItsFirstReader:
    """An argument for which the first process that unpickles it has no memory."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self._seen,)


def _unpickled(seen: Path) -> str:
    if not seen.exists():
        seen.touch()
        raise MemoryError
    return "unpickled"


async def test_a_task_whose_process_died_before_it_began_is_repeated(tmp_path):
    pool = ParserProcesses(LIMITS)
    try:
        others = [asyncio.create_task(pool.run(time.sleep, 2)) for _ in range(4)]
        lost = asyncio.create_task(pool.run(str, DiesOfItsFirstReader(tmp_path / "seen")))
        others.append(asyncio.create_task(pool.run(time.sleep, 2)))
        assert await lost == "unpickled"
        assert await asyncio.gather(*others) == [None] * 5
    finally:
        await pool.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_pool_whose_own_thread_died_is_restarted(monkeypatch):
    update, died = PoolManager.update_tasks, []

    def die_once(manager: PoolManager) -> None:
        if not died and manager.task_manager.tasks:
            died.append(manager)
            raise InvalidStateError
        update(manager)

    monkeypatch.setattr(PoolManager, "update_tasks", die_once)
    pool = ParserProcesses(replace(LIMITS, page_seconds=1, task_seconds=1))
    try:
        outcome = await pool.run(time.sleep, 60)
        assert isinstance(outcome, ProcessKilled)
        assert "more than 1 seconds" in outcome.reason
        assert died
    finally:
        await pool.close()


async def test_closing_during_a_task_leaves_no_process_and_no_file(tmp_path, scanned):
    reader = Reader(A_PROGRAM)
    reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
    await wait_until(reading_tesseract)
    leaders, scratch = child_pids(), reader.scratch
    await reader.close()
    with pytest.raises(ReadingFault, match="closed"):
        await reading
    await wait_until(lambda: not group_members(leaders))  # a busy machine needs a moment
    assert not scratch.exists()


async def test_a_cancelled_reading_frees_its_process(tmp_path, scanned):
    async with Reader(replace(A_PROGRAM, processes=1)) as reader:
        reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
        child = await wait_until(reading_tesseract)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert isinstance(await reader.read(save(tmp_path, make_pdf()), SHA256), DocumentReading)
        await wait_until(lambda: not group_members({child}))


async def test_a_closed_reader_refuses_to_read(tmp_path):
    reader = Reader(LIMITS)
    await reader.close()
    with pytest.raises(ReadingFault, match="closed"):
        await reader.read(save(tmp_path, make_pdf()), SHA256)


async def test_a_fault_of_the_reader_is_not_blamed_on_the_file(tmp_path, scanned):
    async with Reader(ReadingLimits(languages="tlh")) as reader:
        with pytest.raises(ReadingFault, match="tlh"):
            await reader.read(save(tmp_path, scanned), SHA256)
        with pytest.raises(ReadingFault, match="FileNotFoundError"):
            await reader.read(tmp_path / "nowhere.pdf", SHA256)


async def test_an_unreadable_file_is_returned_as_a_value(tmp_path):
    async with Reader(LIMITS) as reader:
        outcome = await reader.read(save(tmp_path, make_spreadsheet()), SHA256)
    assert outcome == Unreadable("UNSUPPORTED_TYPE", {"found": "an Excel workbook"})


@pytest.fixture
def short_folder():
    """Return a folder with a short path, because that of a socket may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="owner-") as folder:
        yield folder


@pytest.mark.slow
async def test_no_process_and_no_file_survives_a_killed_owner(tmp_path, scanned, short_folder):
    program = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from ingestion.reading.processes.pool import Reader, ReadingLimits

        async def main(path):
            async with Reader(ReadingLimits(engine="pytesseract")) as reader:
                print(reader.scratch, flush=True)
                while True:
                    await reader.read(path, "0" * 64)

        if __name__ == "__main__":
            asyncio.run(main(Path(sys.argv[1])))
    """)
    script = save(tmp_path, program.encode(), "owner.py")
    root = Path(__file__).parents[4]
    with subprocess.Popen(  # noqa: ASYNC220 - the test waits for nothing but this
        [sys.executable, script, save(tmp_path, scanned)],
        env={**os.environ, "PYTHONPATH": str(root), "TMPDIR": short_folder},
        stdout=subprocess.PIPE,
        cwd=root,
        text=True,
    ) as owner:
        scratch = Path(owner.stdout.readline().strip())
        leaders = await wait_until(lambda: leaders_with_a_tesseract(owner.pid))
        owner.kill()
    await wait_until(lambda: not group_members(leaders))
    await wait_until(lambda: not scratch.exists())


def leaders_with_a_tesseract(owner: int) -> set[int]:
    """Return the owner's parser processes once one of them has started Tesseract."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        parents[int(name.split()[0])] = int(rest.split()[1])
    servers = {pid for pid, parent in parents.items() if parent == owner}
    readers = {pid for pid, parent in parents.items() if parent in servers}
    return readers if readers & set(parents.values()) else set()


def test_a_page_that_failed_does_not_fail_its_document():
    pages = tuple(PageReading(number, 612, 792, "text", TextSource.NATIVE) for number in (1, 2))
    probe = ProbedDocument(MediaType.PDF, Path("x.pdf"), pages, scans=(2,))
    failed = OcrPages((PageReading(2, 612, 792, "", TextSource.OCR, error="no"),), "tesseract")
    reading = merge_pages(probe, [failed])
    assert [page.error for page in reading.pages] == ["", "no"]
    assert reading.engine == "tesseract"
