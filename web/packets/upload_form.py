"""The upload form: reads a request, saves its files, and submits the packet.

The data flows one way: view (`web.packets.uploads`), form, draft (`ingestion.intake.drafts`),
registration (`ingestion.intake.registration`). Each layer is there for one reason. The view knows
HTTP. The form knows which inputs there are, and puts each problem beside its input. The draft saves
every file and choice before anything is checked, so that nothing that was sent is lost. The
registration decides whether the packet can be registered. The view reads the result from the form.
"""

import hashlib
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Self

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.translation import gettext as _

from audit.change_tracking import form_errors
from ingestion.core.states import DocumentState
from ingestion.intake import drafts
from ingestion.intake.admission import AtCapacity, format_wait
from ingestion.intake.corrections import CorrectionRefused
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.quotas import QuotaExceeded
from ingestion.intake.registration import UploadedDocument
from ingestion.models import Document, Draft, DraftFile, Packet
from ingestion.rules.classification.classify import guess_type
from ingestion.rules.document_types import TYPES
from sites.models import Site, User
from web.packets.file_rules import explain_left_out, explain_unacceptable
from web.shell.request_limits import whole_number

PLAIN_ROWS = 4  # rows of the form without JavaScript, unless more are asked for
_INPUT = re.compile(r"(?:file|type|person)-(\d{1,4})").fullmatch

_FIELDS = {
    "document_type": "type",
    "person": "person",
}  # of a SubmissionFault, to the inputs of a row


@dataclass(frozen=True, slots=True)
class FormProblem:
    """Something to put right, and the id of the input where."""

    anchor: str
    message: str
    code: str  # what the ledger calls it


@dataclass(frozen=True, slots=True)
class UploadRow:
    """One document of the form: a file that we have, or inputs for one."""

    key: str  # of its inputs: k12 for file 12 of the draft, a number for inputs
    document_type: str = ""
    person: str = ""
    filename: str = ""  # of what was sent, also where it could not be taken
    file: DraftFile | None = None

    @classmethod
    def of(cls, file: DraftFile) -> Self:
        return cls(f"k{file.pk}", file.document_type, file.person, file.filename, file)

    @property
    def chosen_type(self) -> str:
        """As chosen, else as the file itself says, else as its name suggests."""
        seen = self.file.guess if self.file else ""
        return self.document_type or seen or guess_type(self.filename)


@dataclass(slots=True)
class UploadForm:
    """One person's form: for a packet, or for what comes in the place of one document."""

    user: User
    sites: Sequence[Site]
    corrects: Document | None = None
    site: Site | None = None
    token: str = ""  # one for each form that was drawn
    draft: Draft | None = None
    kept: list[UploadRow] = field(default_factory=list)
    inputs: list[UploadRow] = field(default_factory=list)  # what is used without JavaScript
    problems: list[FormProblem] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)  # files of the request at hand

    @property
    def most(self) -> int:
        """Files that it takes."""
        return drafts.get_max_files(self.corrects)

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of what is in review, and not of what came back."""
        return self.corrects is not None and self.corrects.state == DocumentState.IN_REVIEW

    @property
    def rows(self) -> list[UploadRow]:
        return self.kept + self.inputs

    def open(self, asked: Mapping[str, str]) -> None:
        """As it was left; links to it may name the site, the type and the person of a document."""
        self.draft = drafts.find_draft(self.user, self.corrects)
        self.token = self.draft.token if self.draft else uuid.uuid4().hex
        left = self.draft.site.site_id if self.draft and self.draft.site else ""
        self.site = self._chosen(asked.get("site", "") or left)
        count = whole_number(asked.get("rows", "")) or PLAIN_ROWS
        first = UploadRow("0", asked.get("type", ""), asked.get("person", ""))
        self._show([first, *(UploadRow(str(number)) for number in range(1, min(count, self.most)))])

    def submit(self, request: HttpRequest) -> Packet | None:
        """Save what was sent, and register the packet.

        Return None, with the reasons in `problems`, if it cannot be registered. That the form came
        back is then recorded, with the choices in its rows (R08).
        """
        self.save(request)
        packet = self._register()
        if packet is None:
            self._record_return()
        return packet

    def save(self, request: HttpRequest) -> None:
        """Save the files, the choices and the site of a request in the draft, files first."""
        sent = request.POST
        self.token = sent.get("token", "")
        self.site = self._chosen(sent.get("site", ""))
        self.draft = drafts.begin_draft(self.user, self.token, self.corrects)
        Draft.objects.filter(pk=self.draft.pk).update(site=self.site)
        for file in self.draft.files.all():
            _choose(file, sent, f"k{file.pk}")
        matches = (_INPUT(name) for name in (*sent, *request.FILES))
        numbers = sorted({int(match[1]) for match in matches if match})
        taken = [self._take(request, str(number)) for number in numbers]
        if removed := whole_number(sent.get("remove", "")):
            drafts.remove_file(self.draft, removed)
        self._show([row for row in taken if row])

    def _register(self) -> Packet | None:
        """Return the registered packet, or None with the reasons in `problems`."""
        self._look()
        self.problems += self._own_problems()
        if self.problems or self.site is None or self.draft is None:
            return None
        try:
            return drafts.submit_draft(
                self.draft,
                site=self.site,
                files=[self._as_registered(row, row.file) for row in self.kept if row.file],
                idempotency_key=self._key(),
            )
        except SubmissionRefused as refusal:
            self.problems += [self._located(fault) for fault in refusal.faults]
        except AtCapacity as full:
            busy = _("SiteLedger is busy. Your files are saved. Submit the packet again in {wait}.")
            message = busy.format(wait=format_wait(full.retry_after))
            self.problems.append(FormProblem("files", message, "at_capacity"))
        except CorrectionRefused as refusal:
            self.problems.append(FormProblem("files", str(refusal), "not_to_correct"))
        return None

    def _record_return(self) -> None:
        wrong: dict[str, list[str]] = {}
        for problem in self.problems:
            wrong.setdefault(problem.anchor, []).append(problem.code)
        typed = {
            f"row-{row.key}": f"{row.document_type} {row.person} {row.filename}"
            for row in self.rows
            if row.filename
        }
        site = self.site.site_id if self.site else ""
        by = self.user.actor
        form_errors.record_form_errors("packet", wrong=wrong, typed=typed, by=by, site=site)

    def _chosen(self, site_id: str) -> Site | None:
        """The site of that number; without one, the only site that there is to choose."""
        if not site_id and len(self.sites) == 1:
            return self.sites[0]
        return next((site for site in self.sites if site.site_id == site_id), None)

    def _show(self, inputs: list[UploadRow]) -> None:
        files = self.draft.files.all() if self.draft else ()
        self.kept = [UploadRow.of(file) for file in files]
        self.inputs = inputs if len(self.kept) < self.most else []

    def _take(self, request: HttpRequest, number: str) -> UploadRow | None:
        """The file of one row into the draft. The row as it was, where there is no file to take."""
        kind, person = (_typed(request.POST, name, number) for name in ("type", "person"))
        sent = request.FILES.get(f"file-{number}")
        if not isinstance(sent, UploadedFile) or self.draft is None:
            return UploadRow(number, kind, person)
        name = PurePath(sent.name or "").name
        if fault := explain_unacceptable(name, sent.size or 0):
            return self._left(number, name, fault, "unacceptable")
        try:
            file, _is_new = drafts.add_file(self.draft, name, sent)
        except drafts.DraftFull:
            return self._left(number, name, explain_left_out(self.most), "too_many")
        except QuotaExceeded as error:
            return self._left(number, name, str(error), "over_quota")
        if file.pk in self.taken:
            message = _("This is the same file as {other}. It was added once.")
            return self._left(number, name, message.format(other=file.filename), "twice")
        self.taken.add(file.pk)
        drafts.declare_file(file, kind, person)
        return None

    def _left(self, number: str, name: str, why: str, code: str) -> UploadRow:
        self.problems.append(FormProblem(f"file-{number}", f"{name}: {why}", code))
        return UploadRow(number, filename=name)

    def _look(self) -> None:
        """At the files that nobody has looked at yet, as long as somebody can be kept waiting."""
        until = time.monotonic() + settings.GUESS_SECONDS
        for row in self.kept:
            if row.file and time.monotonic() < until:
                drafts.suggest_file_type(row.file)

    def _own_problems(self) -> Iterator[FormProblem]:
        if self.site is None:
            yield FormProblem("site", _("Select the site of this packet."), "required")
        if not self.kept and not self.problems:
            first = f"file-{self.inputs[0].key}" if self.inputs else "files"
            yield FormProblem(first, _("Add at least one document."), "required")
        for row in self.kept:
            if row.file and drafts.should_confirm_type(row.file, row.chosen_type):
                detected, chosen = TYPES[row.file.guess], TYPES[row.chosen_type]
                message = _(
                    "{file}: the detected type is {detected}, and you selected {chosen}. "
                    "Change the type, or submit again to keep it."
                ).format(file=row.filename, detected=detected.name, chosen=chosen.name)
                yield FormProblem(f"type-{row.key}", message, "looks_like_another")

    def _as_registered(self, row: UploadRow, file: DraftFile) -> UploadedDocument:
        chosen, kept = row.chosen_type, drafts.get_spooled_file(file)
        overruled = file.guess if file.guess != chosen else ""
        return UploadedDocument(row.filename, chosen, row.person, kept, self.corrects, overruled)

    def _located(self, fault: SubmissionFault) -> FormProblem:
        if not 1 <= fault.line <= len(self.kept):
            return FormProblem("files", fault.message, "not_registrable")
        row = self.kept[fault.line - 1]
        anchor = f"{_FIELDS.get(fault.field, 'file')}-{row.key}"
        return FormProblem(anchor, fault.message, "not_registrable")

    def _key(self) -> str:
        """A double click gives the same key; the same form with other documents does not."""
        parts = [self.user.actor_name, self.token, str(self.site and self.site.site_id)]
        for row in self.kept:
            parts += [
                row.filename,
                row.file.sha256 if row.file else "",
                row.chosen_type,
                row.person,
            ]
        return "upload:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _typed(sent: Mapping[str, str], name: str, key: str) -> str:
    return sent.get(f"{name}-{key}", "").strip()[:80]


def _choose(file: DraftFile, sent: Mapping[str, str], key: str) -> None:
    if f"type-{key}" in sent:
        drafts.declare_file(file, _typed(sent, "type", key), _typed(sent, "person", key))
