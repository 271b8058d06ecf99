"""The children may die in any way; what is asked here is whom it costs what."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest
from pebble.pool.process import PoolManager

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.processes.pool import Reader, ReadingFault
from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
    Unreadable,
)
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import (
    LIMITS,
    bound,
    docx,
    picture_of,
    pictured,
    read,
    save,
    typed,
)
from tests.ingestion.reading.processes import children, groups, until

SHA256 = "0" * 64
A_PROGRAM = ReadingLimits(engine="pytesseract")  # seen at work among the processes


@pytest.fixture(scope="module")
def scanned():
    return pictured(picture_of(typed(signed=True), dpi=300), dpi=300)


def reading_tesseract() -> int:
    """The child whose tesseract is at work, or 0."""
    leaders = children()
    for pid in groups(leaders):
        if pid not in leaders:
            with suppress(ProcessLookupError):  # it has just ended
                return os.getpgid(pid)
    return 0


async def test_a_document_is_read_in_the_pool_as_in_this_process(tmp_path, scanned):
    path = save(tmp_path, scanned)
    async with Reader(LIMITS) as reader:
        assert await reader.read(path, SHA256) == read(path)


async def test_pages_are_given_in_their_order_whoever_read_them(tmp_path):
    pages = [pictured(picture_of(typed(lines=(f"This is sheet {n} of 5",)))) for n in range(1, 6)]
    async with Reader(LIMITS) as reader:
        reading = await reader.read(save(tmp_path, bound(pages)), SHA256)
    assert [page.text.splitlines()[0] for page in reading.pages] == [
        f"This is sheet {n} of 5" for n in range(1, 6)
    ]


async def test_a_page_that_never_ends_costs_only_its_own_document(tmp_path):
    sound = save(tmp_path, typed(), "sound.pdf")
    bomb = save(tmp_path, hostile.tiling(), "bomb.pdf")
    async with Reader(ReadingLimits(page_seconds=2)) as reader:
        paths = [sound, bomb, sound, sound]
        first, stuck, *others = await asyncio.gather(*(reader.read(p, SHA256) for p in paths))
    assert stuck.code == "PARSER_FAILURE"
    assert f"exit code {-signal.SIGPROF}" in stuck.facts["reason"]
    assert all(isinstance(reading, DocumentReading) for reading in (first, *others))


async def test_a_form_that_takes_too_long_to_draw_is_left_out_and_said_to_be(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields())
    async with Reader(ReadingLimits(probe_seconds=1)) as reader:
        reading = await reader.read(path, SHA256)
    assert isinstance(reading, DocumentReading)
    assert (reading.text, reading.flags) == (hostile.WORDS, {"unread-form"})


async def test_nothing_is_said_of_a_page_whose_form_was_not_drawn(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields(contents=b""))
    async with Reader(ReadingLimits(probe_seconds=1)) as reader:
        reading = await reader.read(path, SHA256)
    assert [(page.text, page.is_blank) for page in reading.pages] == [("", False)]


async def test_a_child_that_takes_too_much_memory_costs_only_its_own_document(tmp_path):
    sound, bomb = (
        save(tmp_path, typed(), "sound.pdf"),
        save(tmp_path, hostile.flate_bomb(), "bomb.pdf"),
    )
    async with Reader(ReadingLimits(memory_bytes=900_000_000)) as reader:
        outcomes = [await reader.read(path, SHA256) for path in (sound, bomb, sound)]
    assert [getattr(outcome, "code", "read") for outcome in outcomes] == [
        "read",
        "PARSER_FAILURE",
        "read",
    ]


async def test_a_task_over_its_time_is_stopped_and_charged_to_its_document(tmp_path):
    limits = ReadingLimits(page_seconds=60, task_seconds=1)
    async with Reader(limits) as reader:
        outcome = await reader.read(save(tmp_path, hostile.tiling()), SHA256)
    assert "more than 1 seconds" in outcome.facts["reason"]


async def test_a_child_killed_at_work_loses_nothing_and_leaves_no_tesseract(tmp_path, scanned):
    async with Reader(A_PROGRAM) as reader:
        reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
        child = await until(reading_tesseract)
        os.kill(child, signal.SIGKILL)
        assert "SLX-301" in (await reading).text
        await until(lambda: not groups({child}))


async def test_children_killed_while_idle_are_replaced(tmp_path):
    path = save(tmp_path, typed())
    async with Reader(LIMITS) as reader:
        before = await reader.read(path, SHA256)
        for child in children():
            os.kill(child, signal.SIGKILL)
        assert await reader.read(path, SHA256) == before


def die_with_the_locks() -> None:
    """As a child that is killed between taking the locks and giving them back."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and "channel" not in frame.f_locals:
        frame = frame.f_back
    assert frame is not None
    assert frame.f_locals["channel"].mutex.acquire(timeout=10)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.timeout(110)  # without our looking, Pebble's children take two minutes to give up
async def test_a_child_killed_with_the_locks_costs_the_others_nothing():
    pool = ParserProcesses(LIMITS)
    try:
        assert isinstance(await pool.run(die_with_the_locks), ProcessKilled)
        assert isinstance(await pool.run(os.getpid), int)
    finally:
        await pool.close()


class DiesOfItsFirstReader:
    """What the first child that unpickles it has no memory for."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self._seen,)


def _unpickled(seen: Path) -> str:
    if not seen.exists():
        seen.touch()
        raise MemoryError
    return "unpickled"


async def test_a_task_that_died_with_its_child_before_it_began_is_done_all_the_same(tmp_path):
    pool = ParserProcesses(LIMITS)
    try:
        others = [asyncio.create_task(pool.run(time.sleep, 2)) for _ in range(4)]
        lost = asyncio.create_task(pool.run(str, DiesOfItsFirstReader(tmp_path / "seen")))
        others.append(asyncio.create_task(pool.run(time.sleep, 2)))
        assert await lost == "unpickled"
        assert await asyncio.gather(*others) == [None] * 5
    finally:
        await pool.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_pool_whose_own_thread_died_is_started_again(monkeypatch):
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


async def test_closing_in_the_middle_of_work_leaves_nothing_behind(tmp_path, scanned):
    reader = Reader(A_PROGRAM)
    reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
    await until(reading_tesseract)
    leaders, scratch = children(), reader.scratch
    await reader.close()
    with pytest.raises(ReadingFault, match="closed"):
        await reading
    await until(lambda: not groups(leaders))  # killed: a busy machine takes a moment to bury them
    assert not scratch.exists()


async def test_a_reading_that_is_cancelled_frees_its_child(tmp_path, scanned):
    async with Reader(replace(A_PROGRAM, processes=1)) as reader:
        reading = asyncio.create_task(reader.read(save(tmp_path, scanned), SHA256))
        child = await until(reading_tesseract)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert isinstance(await reader.read(save(tmp_path, typed()), SHA256), DocumentReading)
        await until(lambda: not groups({child}))


async def test_a_closed_reader_reads_nothing(tmp_path):
    reader = Reader(LIMITS)
    await reader.close()
    with pytest.raises(ReadingFault, match="closed"):
        await reader.read(save(tmp_path, typed()), SHA256)


async def test_a_fault_of_ours_is_never_blamed_on_the_file(tmp_path, scanned):
    async with Reader(ReadingLimits(languages="tlh")) as reader:
        with pytest.raises(ReadingFault, match="tlh"):
            await reader.read(save(tmp_path, scanned), SHA256)
        with pytest.raises(ReadingFault, match="FileNotFoundError"):
            await reader.read(tmp_path / "nowhere.pdf", SHA256)


async def test_what_cannot_be_read_is_a_value(tmp_path):
    async with Reader(LIMITS) as reader:
        outcome = await reader.read(save(tmp_path, docx()), SHA256)
    assert outcome == Unreadable("UNSUPPORTED_TYPE", {"found": "a Word document"})


@pytest.fixture
def short_folder():
    """For a killed owner's temporary files: the path of a socket may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="owner-") as folder:
        yield folder


async def test_when_the_owner_is_killed_nothing_of_it_survives(tmp_path, scanned, short_folder):
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
    root = Path(__file__).parents[3]
    with subprocess.Popen(  # noqa: ASYNC220 - the test waits for nothing but this
        [sys.executable, script, save(tmp_path, scanned)],
        env={**os.environ, "PYTHONPATH": str(root), "TMPDIR": short_folder},
        stdout=subprocess.PIPE,
        cwd=root,
        text=True,
    ) as owner:
        scratch = Path(owner.stdout.readline().strip())
        leaders = await until(lambda: leaders_with_a_tesseract(owner.pid))
        owner.kill()
    await until(lambda: not groups(leaders))
    await until(lambda: not scratch.exists())


def leaders_with_a_tesseract(owner: int) -> set[int]:
    """The groups of the children of an owner, once one of them has started a tesseract."""
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
    look = ProbedDocument(MediaType.PDF, Path("x.pdf"), pages, scans=(2,))
    failed = OcrPages((PageReading(2, 612, 792, "", TextSource.OCR, error="no"),), "tesseract")
    reading = merge(look, [failed])
    assert [page.error for page in reading.pages] == ["", "no"]
    assert reading.engine == "tesseract"
