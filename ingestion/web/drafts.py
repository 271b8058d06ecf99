"""A packet as it stands in the upload form: read from a request, checked, and handed over.

Here is what belongs to the form: which rows there are, which site, which files can
be taken at all. What makes a packet registrable is `register.upload_packet`'s to say;
its faults come back on the row that they belong to. Nothing typed is ever lost,
except files on the way without JavaScript: browsers do not give them back.
"""

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Self

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from ingestion.admission import in_words
from ingestion.models import Packet
from ingestion.reading.facts import SUFFIXES
from ingestion.register import (
    AtCapacity,
    Fault,
    KeyReused,
    Refused,
    UploadedDocument,
    upload_packet,
)
from ingestion.rules.classify import guess_type
from sites.models import Site, User

ACCEPTED = tuple(SUFFIXES)
PLAIN_ROWS = 4  # rows of the form without JavaScript, unless more are asked for
_INPUT = re.compile(r"(?:file|type|person)-(\d{1,4})").fullmatch
_FULL = "We have more documents to check than we can take just now. Send it again in {}."
_SENT = "This page was sent before, with other files. Open a new page and send them from there."
_FIELDS = {"document_type": "type", "person": "person"}  # of a Fault, to the inputs of a row


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to put right, and the id of the input where."""

    anchor: str
    message: str
    code: str  # what the ledger calls it


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    document_type: str = ""
    person: str = ""
    content: "UploadedFile[bytes] | None" = None

    @property
    def filename(self) -> str:
        return PurePath((self.content and self.content.name) or "").name

    @property
    def size(self) -> int:
        return (self.content and self.content.size) or 0

    @property
    def chosen_type(self) -> str:
        """As chosen, else as the file's name suggests."""
        return self.document_type or guess_type(self.filename)


@dataclass(frozen=True, slots=True)
class Draft:
    site: Site | None
    token: str  # one for each form that was drawn
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()

    @classmethod
    def blank(cls, sites: Sequence[Site], request: HttpRequest) -> Self:
        """An empty form; links to it may name the site, the type and the person of one document."""
        asked = request.GET
        wanted = asked.get("rows", "")
        count = min(int(wanted), settings.MAX_UPLOAD_FILES) if wanted.isdecimal() else PLAIN_ROWS
        first = Row(0, asked.get("type", ""), asked.get("person", ""))
        rows = (first, *(Row(number) for number in range(1, count)))
        return cls(_chosen(sites, asked.get("site", "")), uuid.uuid4().hex, rows)

    @classmethod
    def sent(cls, sites: Sequence[Site], request: HttpRequest) -> Self:
        matches = (_INPUT(name) for name in (*request.POST, *request.FILES))
        numbers = sorted({int(match[1]) for match in matches if match})
        rows = tuple(_row(request, number) for number in numbers)
        return cls(
            _chosen(sites, request.POST.get("site", "")), request.POST.get("token", ""), rows
        )

    @property
    def filled(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.content)

    def register(self, user: User) -> Packet | Self:
        """The packet, registered; or the draft again, with what has to be put right."""
        problems = tuple(self._own_problems())
        if problems or self.site is None:
            return self._with(problems)
        try:
            return upload_packet(
                site=self.site,
                user=user,
                files=list(self._files()),
                idempotency_key=self._key(user),
            )
        except Refused as refusal:
            return self._with(tuple(self._located(fault) for fault in refusal.faults))
        except AtCapacity as full:
            said = _FULL.format(in_words(full.retry_after))
            return self._with((Problem("files", said, "at_capacity"),))
        except KeyReused:
            return self._with((Problem("files", _SENT, "sent_before"),))

    def _with(self, problems: tuple[Problem, ...]) -> Self:
        return type(self)(self.site, self.token, self.rows, problems)

    def _own_problems(self) -> Iterator[Problem]:
        if self.site is None:
            yield Problem("site", "Choose the site this packet is for", "required")
        if not self.filled:
            first = f"file-{self.rows[0].number}" if self.rows else "files"
            yield Problem(first, "Add at least one document", "required")
        for row in self.filled:
            if message := _unacceptable(row):
                yield Problem(f"file-{row.number}", f"{row.filename}: {message}", "unacceptable")

    def _files(self) -> Iterator[UploadedDocument]:
        for row in self.rows:
            if row.content:
                yield UploadedDocument(row.filename, row.chosen_type, row.person, row.content)

    def _located(self, fault: Fault) -> Problem:
        if not 1 <= fault.line <= len(self.filled):
            return Problem("files", fault.message, "not_registrable")
        row = self.filled[fault.line - 1]
        anchor = f"{_FIELDS.get(fault.field, 'file')}-{row.number}"
        return Problem(anchor, fault.message, "not_registrable")

    def _key(self, user: User) -> str:
        """A double click gives the same key; the same form with other documents does not."""
        said = [user.actor, self.token, str(self.site and self.site.site_id)]
        for row in self.filled:
            said += [row.filename, str(row.size), row.chosen_type, row.person]
        return "upload:" + hashlib.sha256("\0".join(said).encode()).hexdigest()


def _chosen(sites: Sequence[Site], site_id: str) -> Site | None:
    """The site of that number; without one, the only site that there is to choose."""
    if not site_id and len(sites) == 1:
        return sites[0]
    return next((site for site in sites if site.site_id == site_id), None)


def _row(request: HttpRequest, number: int) -> Row:
    content = request.FILES.get(f"file-{number}")
    return Row(
        number,
        document_type=request.POST.get(f"type-{number}", ""),
        person=request.POST.get(f"person-{number}", "").strip(),
        content=content if isinstance(content, UploadedFile) else None,
    )


def _unacceptable(row: Row) -> str:
    if PurePath(row.filename).suffix.lower() not in ACCEPTED:
        return "not a PDF or a scan. Save it as a PDF and add it again."
    if not row.size:
        return "the file is empty. Open it on your side, save it and add it again."
    if row.size > settings.MAX_DOCUMENT_MB * 1_000_000:
        return (
            f"the file is {row.size / 1e6:.1f} MB; the limit is {settings.MAX_DOCUMENT_MB} MB. "
            "Scan it in black and white."
        )
    return ""
