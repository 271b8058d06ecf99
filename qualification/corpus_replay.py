"""Read and check the same files again and compare the results.

Each run has a pool of its own, and every other one takes the files in the opposite order: what
depends on the process, the neighbour or the clock shows. The day and the site are pinned. Plain
Python; nothing is registered, and no database asked.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Self

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.rules.checks.verdict import (
    SCHEMA_VERSIONS,
    Sent,
    SiteFacts,
    check_whatever,
)
from ingestion.rules.document_types import RULES_VERSION

DAY = date(2026, 11, 20)
SITE = SiteFacts("1001", "SLX-301")

Record = Mapping[str, Any]  # plain JSON: state, type, findings, fields; of what was read also text


class UnusableRecord(Exception):
    """An earlier record cannot be compared with this run."""


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """The result of each file, by name. Two runs can be compared if their day is the same."""

    day: date
    files: Mapping[str, Record]
    rules: str = RULES_VERSION

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "day": self.day.isoformat()}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises Unusable."""
        try:
            told = json.loads(text)
            return cls(date.fromisoformat(told["day"]), dict(told["files"]), str(told["rules"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnusableRecord(f"it is not what --write wrote ({error!r})") from error


def replay_files(
    files: Mapping[str, Path], limits: ReadingLimits, *, day: date = DAY, backwards: bool = False
) -> ReplayRun:
    """Read and check the files. Raises ReadingFault if the software fails to read one."""
    names = sorted(files, reverse=backwards)
    records = asyncio.run(_read_all([files[name] for name in names], limits, day))
    return ReplayRun(day, dict(sorted(zip(names, records, strict=True))))


def record_digest(record: Record) -> str:
    return hashlib.sha256(_canonical(record)).hexdigest()


def differences(before: ReplayRun, after: ReplayRun) -> Iterator[tuple[str, str]]:
    """Yield the name of each file with another result, and a sentence for each difference."""
    for name in sorted({*before.files, *after.files}):
        old, new = before.files.get(name), after.files.get(name)
        if old is None or new is None:
            yield name, "is not in both"
        elif record_digest(old) != record_digest(new):
            for key in sorted({*old, *new}):
                yield from ((name, said) for said in _told(key, old.get(key), new.get(key)))


async def _read_all(paths: Sequence[Path], limits: ReadingLimits, day: date) -> list[Record]:
    async with Reader(limits) as reader:
        reads = (reader.read_then(partial(_record, day=day), path, _sha256(path)) for path in paths)
        return await asyncio.gather(*reads)


def _record(seen: DocumentReading | Unreadable, *, day: date) -> Record:
    """Return the record of a file. Runs in the parser process if no page needed OCR."""
    verdict = check_whatever(seen, Sent(SCHEMA_VERSIONS[-1]), site=SITE, today=day).verdict
    record = {
        "state": verdict.state.value,
        "type": verdict.document_type,
        "findings": [[found.code, found.page, dict(found.facts)] for found in verdict.findings],
        "fields": {
            each.name: [each.value, each.page, str(each.source), float(each.confidence)]
            for each in verdict.fields
        },
    }
    if isinstance(seen, Unreadable):
        return record
    text = [
        [str(page.source), hashlib.sha256(page.text.encode()).hexdigest()] for page in seen.pages
    ]
    return {**record, "text": text, "form": dict(seen.fields), "flags": sorted(seen.flags)}


def _told(key: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    if key == "text" and old and new and len(old) == len(new):
        pages = (str(at) for at, (a, b) in enumerate(zip(old, new, strict=True), 1) if a != b)
        yield f"the text of page {', '.join(pages)} reads otherwise"
    elif key == "fields":
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield f"{name} was {_shown(old.get(name))}, is {_shown(new.get(name))}"
    else:
        yield f"{key} was {_shown(old)}, is {_shown(new)}"


def _shown(value: Any) -> str:
    return "nothing" if value is None else _canonical(value).decode()


def _canonical(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
