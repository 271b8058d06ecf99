"""Hostile files: a test for each row of the table in reading.md, section 6.

All of them are read in one queue, with an innocent file after each.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, Unreadable
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import LIMITS, make_pdf, save
from tests.ingestion.reading.pool_processes import group_members, record_children, wait_until
from tests.marks import slower

SHA256 = "0" * 64
SOON = ReadingLimits(page_seconds=1)
INNOCENT = "and with the principles of Good Clinical Practice."

REFUSED = {
    hostile.flate_bomb: ("PARSER_FAILURE", "the process that read it died"),
    hostile.double_flate_bomb: ("PARSER_FAILURE", "the process that read it died"),
    hostile.object_stream_bomb: ("PARSER_FAILURE", "the process that read it died"),
    hostile.inline_picture_of_a_gigapixel: ("PARSER_FAILURE", "the process that read it died"),
    hostile.picture_of_a_gigapixel: ("PARSER_FAILURE", "1024 megapixels"),
    hostile.picture_of_ten_gigapixels: ("PARSER_FAILURE", "10000 megapixels"),
    hostile.stamp_of_a_gigapixel: ("PARSER_FAILURE", "1024 megapixels"),
    hostile.png_of_60_000_squared: ("PARSER_FAILURE", "too many pixels"),
    hostile.png_of_13_000_squared: ("PARSER_FAILURE", "169 megapixels"),
    hostile.page_of_a_billion_points: ("PARSER_FAILURE", "13888889 inches"),
    hostile.page_tree_loop: ("FILE_TOO_LARGE", "1000000"),
    hostile.one_page_200_000_times: ("FILE_TOO_LARGE", "200000"),
    hostile.spreadsheet: ("UNSUPPORTED_TYPE", "an Excel workbook"),
    hostile.program: ("UNSUPPORTED_TYPE", "a Windows program"),
    hostile.web_page: ("UNSUPPORTED_TYPE", "a web page"),
    hostile.nothing: ("EMPTY_FILE", ""),
}
READ = {
    hostile.page_of_200_inches: set(),
    hostile.nested_arrays: set(),
    hostile.nested_dictionaries: {"unsearched"},  # too large to be searched
    hostile.table_after_itself: set(),
    hostile.tables_in_a_circle: set(),
    hostile.table_of_two_billion: set(),
    hostile.script: {"javascript"},
    hostile.launch: {"launch"},
    hostile.remote_file: {"file-link"},
}
WITHOUT_WORDS = {
    hostile.jbig2_bomb: set(),
    hostile.mask_of_a_gigapixel: set(),
    hostile.contents_elsewhere: {"remote"},
}
ENDLESS = [hostile.path_of_millions]
AS_ENDLESS = [
    hostile.billion_laughs,
    hostile.metadata_bomb,
    hostile.pattern_of_a_gigapixel,
    hostile.tiling,
    hostile.two_million_texts,
]


def by_name(makers):
    return pytest.mark.parametrize("make", makers, ids=lambda make: make.__name__)


def queue(makers, limits):
    """Return the outcome of each file by its maker, and those of an innocent file after each."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        return asyncio.run(_read_all(Path(folder), makers, limits))


async def _read_all(folder, makers, limits):
    innocent = save(folder, make_pdf(), "innocent.pdf")
    paths = [save(folder, make(), make.__name__) for make in makers]
    async with Reader(limits) as reader, record_children() as leaders:
        reads = [reader.read(path, SHA256) for each in paths for path in (each, innocent)]
        outcomes = await asyncio.gather(*reads)
    await wait_until(lambda: not group_members(leaders))
    assert leaders
    return dict(zip(makers, outcomes[::2], strict=True)), outcomes[1::2]


@pytest.fixture(scope="module")
def outcomes():
    return queue([*REFUSED, *READ, *WITHOUT_WORDS], LIMITS)


@pytest.fixture(scope="module")
def outlasting():
    """Return outcomes with a short limit for each page, because these pages never finish."""
    return queue(ENDLESS, SOON)


@pytest.fixture(scope="module")
def outlasting_too():
    return queue(AS_ENDLESS, SOON)


@by_name(REFUSED)
def test_a_file_that_exceeds_a_limit_is_refused_with_the_reason(make, outcomes):
    outcome = outcomes[0][make]
    code, why = REFUSED[make]
    assert isinstance(outcome, Unreadable)
    assert outcome.code == code
    assert why in " ".join(map(str, outcome.facts.values()))


@by_name(READ)
def test_a_harmless_file_is_read_and_its_active_content_is_flagged(make, outcomes):
    reading = outcomes[0][make]
    assert isinstance(reading, DocumentReading)
    assert (reading.text, reading.flags) == (hostile.INNOCENT_TEXT, READ[make])


@by_name(WITHOUT_WORDS)
def test_a_file_without_visible_content_is_read_as_empty(make, outcomes):
    reading = outcomes[0][make]
    assert isinstance(reading, DocumentReading)
    assert (reading.text, reading.flags) == ("", WITHOUT_WORDS[make])


@by_name(ENDLESS)
def test_a_file_whose_reading_never_ends_is_stopped(make, outlasting):
    is_ended(outlasting[0][make])


@pytest.mark.slow
@by_name(AS_ENDLESS)
def test_other_files_whose_reading_never_ends_are_stopped(make, outlasting_too):
    is_ended(outlasting_too[0][make])


def is_ended(outcome):
    assert isinstance(outcome, Unreadable)
    assert outcome.code == "PARSER_FAILURE"
    reason = outcome.facts["reason"]
    assert "the process that read it died" in reason or "it took too long" in reason


@pytest.mark.sampled(3)
@pytest.mark.parametrize("queued", ["outcomes", "outlasting", slower("outlasting_too")])
def test_every_innocent_file_between_hostile_ones_is_read(queued, request):
    _, innocents = request.getfixturevalue(queued)
    assert all(isinstance(reading, DocumentReading) for reading in innocents)
    assert all(INNOCENT in reading.text for reading in innocents)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_files_whose_reading_never_ends_are_stopped_within_the_default_limits():
    ended, innocents = queue([*ENDLESS, *AS_ENDLESS], LIMITS)
    codes = {make.__name__: getattr(outcome, "code", "read") for make, outcome in ended.items()}
    assert set(codes.values()) <= {"PARSER_FAILURE", "read"}, codes
    assert all(INNOCENT in reading.text for reading in innocents)
