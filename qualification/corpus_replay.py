"""Read and check the same files several times, and compare the results.

Each run has its own pool of parser processes, and every second run takes the files in the opposite
order. Results that depend on the process, on other files or on the clock therefore differ. The day
and the site are fixed. This module is plain Python: it registers nothing and uses no database.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Self

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import check_or_reject
from ingestion.rules.document_types import RULES_VERSION

DAY = date(2026, 11, 20)
SITE = SiteFacts("1001", "SLX-301")

# The result of one file as plain JSON: state, type, findings and fields, and for a readable file
# also the digests of the text of its pages, its form fields and its flags.
FileRecord = Mapping[str, Any]


class UnusableRecord(Exception):
    """An earlier record cannot be compared with this run."""


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """The result of each file, by name. Two runs can be compared if their day is the same."""

    day: date
    files: Mapping[str, FileRecord]
    rules: str = RULES_VERSION

    def as_json(self) -> str:
        """Return the run as indented JSON with sorted keys."""
        return json.dumps({**asdict(self), "day": self.day.isoformat()}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the run that `as_json` wrote. Raises UnusableRecord."""
        try:
            run = json.loads(text)
            return cls(date.fromisoformat(run["day"]), dict(run["files"]), str(run["rules"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnusableRecord(f"it was not written by --write ({error!r})") from error


def replay_files(
    files: Mapping[str, Path], limits: ReadingLimits, *, day: date = DAY, backwards: bool = False
) -> ReplayRun:
    """Read and check the files. Raises ReadingFault if the software fails to read one."""
    names = sorted(files, reverse=backwards)

    async def read_all() -> list[FileRecord]:
        async with Reader(limits) as reader:
            return await asyncio.gather(
                *(
                    reader.read_then(
                        partial(_check_file, day=day),
                        files[name],
                        hashlib.sha256(files[name].read_bytes()).hexdigest(),
                    )
                    for name in names
                )
            )

    return ReplayRun(day, dict(sorted(zip(names, asyncio.run(read_all()), strict=True))))


def record_digest(record: FileRecord) -> str:
    """Return the SHA-256 of the record's canonical JSON, in hex."""
    return hashlib.sha256(_canonical_json(record)).hexdigest()


def iter_file_differences(before: ReplayRun, after: ReplayRun) -> Iterator[tuple[str, str]]:
    """Yield the name of each file with another result, and a sentence for each difference."""
    for name in sorted({*before.files, *after.files}):
        old, new = before.files.get(name), after.files.get(name)
        if old is None or new is None:
            yield name, "is not in both runs"
        elif record_digest(old) != record_digest(new):
            for key in sorted({*old, *new}):
                for sentence in _describe_difference(key, old.get(key), new.get(key)):
                    yield name, sentence


def _check_file(reading: DocumentReading | Unreadable, *, day: date) -> FileRecord:
    """Return the record of a file. Runs in the parser process if no page needed OCR."""
    verdict = check_or_reject(
        reading, SenderFacts(SCHEMA_VERSIONS[-1]), site=SITE, today=day
    ).verdict
    record = {
        "state": verdict.state.value,
        "type": verdict.document_type,
        "findings": [[found.code, found.page, dict(found.facts)] for found in verdict.findings],
        "fields": {
            field.name: [field.value, field.page, str(field.source), float(field.confidence)]
            for field in verdict.fields
        },
    }
    if isinstance(reading, Unreadable):
        return record
    text = [
        [str(page.source), hashlib.sha256(page.text.encode()).hexdigest()] for page in reading.pages
    ]
    return {**record, "text": text, "form": dict(reading.fields), "flags": sorted(reading.flags)}


def _describe_difference(key: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    if key == "text" and old and new and len(old) == len(new):
        pages = (str(page) for page, (a, b) in enumerate(zip(old, new, strict=True), 1) if a != b)
        yield f"the text differs on page {', '.join(pages)}"
    elif key == "fields":
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield f"{name} was {_show_value(old.get(name))}, is {_show_value(new.get(name))}"
    else:
        yield f"{key} was {_show_value(old)}, is {_show_value(new)}"


def _show_value(value: Any) -> str:
    return "nothing" if value is None else _canonical_json(value).decode()


def _canonical_json(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")
