"""Reads and judges files as if they were filed. Nothing is stored.

A file is judged in a parser process, as in the worker hosts, with the same limits.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from ingestion.assessment.language import identify_language
from ingestion.core.file_parts import Region
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import (
    DocumentVerdict,
    check_file,
    check_part,
    make_verdict_of_unreadable,
)
from ingestion.rules.classification.classify import TypeCandidate
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.segmentation.parts import PagePart, select_pages

NO_SITE = SiteFacts("")
# What is not checked without a site, because it needs the register.
_SKIPPED_WITHOUT_SITE = ("SITE_MISMATCH", "PROTOCOL_MISMATCH", "PROTOCOL_VERSION_MISMATCH")
# What is never checked, because it compares documents of a site with each other.
_SKIPPED_ALWAYS = ("LAB_MISMATCH", "IRB_MISMATCH", "PACKET_INCOMPLETE", "DUPLICATE_CONTENT")


@dataclass(frozen=True, slots=True)
class AssessedDocument:
    """A document that was found in a file."""

    pages: tuple[int, int]  # the first and the last, from 1
    slug: str  # of its type; "" if it was not recognised
    state: str
    codes: tuple[str, ...]
    candidates: tuple[TypeCandidate, ...] = ()
    fields: tuple[FieldValue, ...] = ()
    language: str | None = None  # ISO 639-1; None if there is too little text to know it
    region: Region | None = None  # of a sheet onto which several pages were copied

    def as_json(self) -> dict[str, Any]:
        """Return the document as in the JSON of `assess_corpus` (docs/assessment.md)."""
        region = {"region": list(self.region)} if self.region else {}
        return {
            "pages": list(self.pages),
            **region,
            "type": self.slug or None,
            "candidates": [[each.slug, round(each.probability, 3)] for each in self.candidates],
            "language": self.language,
            "state": self.state,
            "codes": list(self.codes),
            "fields": {each.name: each.value for each in self.fields},
            "in_doubt": [each.name for each in self.fields if not each.is_sure],
        }


@dataclass(frozen=True, slots=True)
class AssessedFile:
    """The result of one file. `seconds` is the time from its submission to the pool to its end."""

    state: str
    codes: tuple[str, ...]
    page_count: int = 0  # 0 if it cannot be read
    documents: tuple[AssessedDocument, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def as_json(self, name: str) -> dict[str, Any]:
        """Return the file as in the JSON of `assess_corpus` (docs/assessment.md)."""
        return {
            "file": name,
            "state": self.state,
            "codes": list(self.codes),
            "seconds": round(self.seconds, 2),
            "documents": [document.as_json() for document in self.documents],
        }


def list_skipped(site: SiteFacts) -> list[str]:
    """Return the codes that an assessment does not check, with or without a site."""
    return [*(() if site.site_id else _SKIPPED_WITHOUT_SITE), *_SKIPPED_ALWAYS]


def assess_files(
    files: Mapping[str, Path],
    limits: ReadingLimits,
    *,
    today: date,
    site: SiteFacts = NO_SITE,
    model: ModelFile | None = None,
    report: Callable[[str, AssessedFile], None] = lambda _name, _result: None,
) -> dict[str, AssessedFile]:
    """Return the result of each file, by name, and call `report` with each as soon as it is known.

    Document types are recognised with `model`, and by default with the built-in one. Raises
    ReadingFault if the software fails to read one, and OSError.
    """
    from ingestion.reading.processes.pool import Reader  # noqa: PLC0415 - large, see preview_request

    async def assess(reader: Reader, name: str) -> AssessedFile:
        async with waiting:
            began = time.monotonic()
            content = await asyncio.to_thread(files[name].read_bytes)
            judge = partial(judge_reading, name=name, site=site, today=today, model=model)
            sha256 = hashlib.sha256(content).hexdigest()
            result = await reader.read_file_then(judge, files[name], sha256)
        result = replace(result, seconds=time.monotonic() - began)
        report(name, result)
        return result

    async def assess_all() -> dict[str, AssessedFile]:
        async with Reader(limits) as reader:
            results = await asyncio.gather(*(assess(reader, name) for name in files))
        return dict(zip(files, results, strict=True))

    waiting = asyncio.Semaphore(limits.processes)
    return asyncio.run(assess_all())


def judge_reading(
    reading: DocumentReading | Unreadable,
    *,
    name: str,
    site: SiteFacts,
    today: date,
    model: ModelFile | None = None,
) -> AssessedFile:
    """Return the result of a file that was read, or could not be read, with `seconds` 0."""
    if isinstance(reading, Unreadable):
        verdict = make_verdict_of_unreadable(reading)
        return AssessedFile(verdict.state.value, _codes(verdict))
    sent = SenderFacts(SCHEMA_VERSIONS[-1], filename=name)
    checked = check_file(reading, sent, site=site, today=today, model=model)
    cut, verdict = checked.cut, checked.verdict
    state, codes, count = verdict.state.value, _codes(verdict), len(reading.pages)
    if cut is None or cut.is_one_document:
        return AssessedFile(state, codes, count, (_assess(reading, PagePart(1, count), verdict),))
    check = partial(check_part, reading, sent=sent, site=site, today=today, model=model)
    documents = tuple(_assess(reading, part, check(part)) for part in cut.parts)
    if not cut.needs_no_confirmation:  # QA gets the whole file with the proposal
        documents = tuple(
            replace(document, slug=part.type, state=state, codes=codes, fields=())
            for document, part in zip(documents, cut.parts, strict=True)
        )
    return AssessedFile(state, codes, count, documents)


def _assess(reading: DocumentReading, part: PagePart, verdict: DocumentVerdict) -> AssessedDocument:
    return AssessedDocument(
        (part.first, part.last),
        verdict.document_type,
        verdict.state.value,
        _codes(verdict),
        verdict.candidates,
        verdict.fields,
        identify_language(select_pages(reading, part).text),
        part.region,
    )


def _codes(verdict: DocumentVerdict) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.code for finding in verdict.findings))
