"""Implements the upload form: reads a request, saves its files, and submits the packet.

The data flows one way: view (`web.packets.uploads`), form, draft (`ingestion.intake.drafts`),
registration (`ingestion.intake.registration`). Each layer has one reason. The view knows HTTP. The
form knows its inputs, and places each problem beside its input. The draft saves every file and
choice before anything is checked, so that no file is lost. The registration decides whether the
packet can be registered. The view reads the result from the form.
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
from ingestion.intake import corrections, drafts
from ingestion.intake.admission import AtCapacity, format_wait
from ingestion.intake.corrections import CorrectionRefused
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.quotas import QuotaExceeded
from ingestion.intake.registration import SEVERAL_DOCUMENTS, UploadedDocument
from ingestion.intake.retrying import DOWNLOAD_FAILED
from ingestion.models import Document, Draft, DraftFile, Packet
from ingestion.models.requirements import get_type_name
from ingestion.rules.classification.classify import suggest_type
from sites.models import Site, User
from web.packets.file_contents import FileContents, describe_contents
from web.packets.file_rules import explain_too_many, explain_unacceptable
from web.shell.request_limits import parse_whole_number

ROWS_WITHOUT_SCRIPT = 4  # of the form without JavaScript, unless its address asks for more
MAX_FIELD_CHARACTERS = 80
_FIND_INPUT = re.compile(r"(?:file|type|person)-(\d{1,4})").fullmatch
# The input of a row for each field of a SubmissionFault. Other faults belong to the file.
_INPUT_OF_FIELD = {"document_type": "type", "person": "person"}


@dataclass(frozen=True, slots=True)
class FormProblem:
    """A problem, and the id of the input that it belongs to."""

    anchor: str
    message: str
    code: str  # recorded in the ledger


@dataclass(frozen=True, slots=True)
class UploadRow:
    """One document of the form: a file that was received, or inputs for one."""

    key: str  # of its inputs: "k12" for file 12 of the draft, a number for other inputs
    document_type: str = ""
    person: str = ""
    filename: str = ""  # also of a file that could not be added
    file: DraftFile | None = None

    @classmethod
    def of(cls, file: DraftFile) -> Self:
        """Return the row of a file of the draft."""
        return cls(f"k{file.pk}", file.document_type, file.person, file.filename, file)

    @property
    def chosen_type(self) -> str:
        """Return the selected type, else the detected one, else the one that the name suggests."""
        detected = self.file.detected_type if self.file else ""
        return self.document_type or detected or suggest_type(self.filename)

    @property
    def contents(self) -> FileContents | None:
        """Return the documents that the file seems to hold, if it seems to hold several."""
        return describe_contents(self.file) if self.file else None


@dataclass(slots=True)
class UploadForm:
    """The form of one person, for a packet or for a file that replaces one document."""

    user: User
    sites: Sequence[Site]
    corrects: Document | None = None
    site: Site | None = None
    token: str = ""  # one for each form that was shown
    draft: Draft | None = None
    file_rows: list[UploadRow] = field(default_factory=list)
    input_rows: list[UploadRow] = field(default_factory=list)  # only used without JavaScript
    problems: list[FormProblem] = field(default_factory=list)

    @property
    def max_files(self) -> int:
        """Return the largest number of files that the form accepts."""
        return drafts.get_max_files(self.corrects)

    @property
    def replaces(self) -> bool:
        """Return whether the new file replaces one in review, not a rejected or returned one."""
        return self.corrects is not None and self.corrects.state == DocumentState.IN_REVIEW

    @property
    def is_first_file(self) -> bool:
        """Return whether no file of the document has arrived: its portal did not deliver it."""
        document = self.corrects
        return document is not None and (
            corrections.is_waiting_for_portal(document) or document.code == DOWNLOAD_FAILED
        )

    @property
    def rows(self) -> list[UploadRow]:
        """Return all rows: first those of received files, then those with inputs for one."""
        return self.file_rows + self.input_rows

    def load(self, parameters: Mapping[str, str]) -> None:
        """Load the form from the draft of the person.

        Links to the form can name the site, the type and the person of a document.
        """
        self.draft = drafts.find_draft(self.user, self.corrects)
        self.token = self.draft.token if self.draft else uuid.uuid4().hex
        site_of_draft = self.draft.site.site_id if self.draft and self.draft.site else ""
        self.site = self._find_site(parameters.get("site", "") or site_of_draft)
        number = parse_whole_number(parameters.get("rows", "")) or ROWS_WITHOUT_SCRIPT
        first = UploadRow("0", parameters.get("type", ""), parameters.get("person", ""))
        others = (UploadRow(str(key)) for key in range(1, min(number, self.max_files)))
        self._set_rows([first, *others])

    def submit(self, request: HttpRequest) -> Packet | None:
        """Save what was sent, and register the packet.

        Return None, with the reasons in `problems`, if it cannot be registered. The problems are
        then recorded, with the choices in the rows (R08).
        """
        self.save(request)
        # Detection takes seconds. Files that are left over keep the type that their name suggests.
        deadline = time.monotonic() + settings.GUESS_SECONDS
        for row in self.file_rows:
            if row.file and time.monotonic() < deadline:
                drafts.detect_file_type(row.file)
        self.problems += self._find_problems()
        packet = None if self.problems else self._register()
        if packet is None:
            self._record_problems()
        return packet

    def save(self, request: HttpRequest) -> None:
        """Save the files, the choices and the site of a request in the draft, files first."""
        data = request.POST
        self.token = data.get("token", "")
        self.site = self._find_site(data.get("site", ""))
        self.draft = drafts.begin_draft(self.user, self.token, self.corrects)
        Draft.objects.filter(pk=self.draft.pk).update(site=self.site)
        for file in self.draft.files.all():
            key = f"k{file.pk}"
            if f"type-{key}" in data:
                drafts.declare_file(file, _read(data, "type", key), _read(data, "person", key))
        inputs = (_FIND_INPUT(name) for name in (*data, *request.FILES))
        numbers = sorted({int(match[1]) for match in inputs if match})
        added: set[int] = set()
        rows = [self._add_file(request, str(number), added) for number in numbers]
        if removed := parse_whole_number(data.get("remove", "")):
            drafts.remove_file(self.draft, removed)
        self._set_rows([row for row in rows if row])

    def _find_site(self, site_id: str) -> Site | None:
        """Return the site with this number. Without a number, return the only possible site."""
        if not site_id and len(self.sites) == 1:
            return self.sites[0]
        return next((site for site in self.sites if site.site_id == site_id), None)

    def _set_rows(self, input_rows: list[UploadRow]) -> None:
        files = self.draft.files.all() if self.draft else ()
        self.file_rows = [UploadRow.of(file) for file in files]
        self.input_rows = input_rows if len(self.file_rows) < self.max_files else []

    def _add_file(self, request: HttpRequest, key: str, added: set[int]) -> UploadRow | None:
        """Add the file of one row to the draft, and its primary key to `added`.

        Return the row if it stays in the form, because it has no file or its file was not added.
        """
        document_type, person = (_read(request.POST, name, key) for name in ("type", "person"))
        upload = request.FILES.get(f"file-{key}")
        if not isinstance(upload, UploadedFile) or self.draft is None:
            return UploadRow(key, document_type, person)
        name = PurePath(upload.name or "").name
        code, reason = "unacceptable", explain_unacceptable(name, upload.size or 0)
        if not reason:
            try:
                file, _is_new = drafts.add_file(self.draft, name, upload)
            except drafts.DraftFull:
                code, reason = "too_many", explain_too_many(self.max_files)
            except QuotaExceeded as error:
                code, reason = "over_quota", str(error)
            else:
                if file.pk not in added:
                    added.add(file.pk)
                    drafts.declare_file(file, document_type, person)
                    return None
                sentence = _("This is the same file as {other}. It was added once.")
                code, reason = "twice", sentence.format(other=file.filename)
        self.problems.append(FormProblem(f"file-{key}", f"{name}: {reason}", code))
        return UploadRow(key, filename=name)

    def _find_problems(self) -> Iterator[FormProblem]:
        """Yield the problems that the form itself finds, before the registration."""
        if self.site is None:
            yield FormProblem("site", _("Select the site of this packet."), "required")
        if not self.file_rows and not self.problems:
            anchor = f"file-{self.input_rows[0].key}" if self.input_rows else "files"
            yield FormProblem(anchor, _("Add at least one document."), "required")
        for row in self.file_rows:
            if row.file and drafts.should_confirm_type(row.file, row.chosen_type):
                several = _("Several documents")
                is_several = row.file.detected_type == SEVERAL_DOCUMENTS
                detected = several if is_several else get_type_name(row.file.detected_type)
                sentence = _(
                    "{file}: the detected type is {detected}, and you selected {chosen}. "
                    "Change the type, or send the packet again to keep it."
                )
                message = sentence.format(
                    file=row.filename, detected=detected, chosen=get_type_name(row.chosen_type)
                )
                yield FormProblem(f"type-{row.key}", message, "looks_like_another")

    def _register(self) -> Packet | None:
        """Return the registered packet, or None with the reasons in `problems`."""
        if self.site is None or self.draft is None:
            return None
        # A double click has the same key. The same form with other documents has another one.
        key_parts = [self.user.actor_name, self.token, self.site.site_id]
        documents = []
        for row in self.file_rows:
            if row.file:
                key_parts += [row.filename, row.file.sha256, row.chosen_type, row.person]
                is_overruled = row.chosen_type not in {row.file.detected_type, SEVERAL_DOCUMENTS}
                overruled = row.file.detected_type if is_overruled else ""
                documents.append(
                    UploadedDocument(
                        row.filename,
                        row.chosen_type,
                        row.person,
                        drafts.get_spooled_file(row.file),
                        self.corrects,
                        overruled,
                    )
                )
        digest = hashlib.sha256("\0".join(key_parts).encode()).hexdigest()
        try:
            return drafts.submit_draft(
                self.draft, site=self.site, files=documents, idempotency_key=f"upload:{digest}"
            )
        except SubmissionRefused as refusal:
            self.problems += [self._locate_fault(fault) for fault in refusal.faults]
        except AtCapacity as error:
            sentence = _(
                "SiteLedger is busy. Your files are saved. Send the packet again in {wait}."
            )
            message = sentence.format(wait=format_wait(error.retry_after))
            self.problems.append(FormProblem("files", message, "at_capacity"))
        except CorrectionRefused as refusal:
            self.problems.append(FormProblem("files", str(refusal), "not_to_correct"))
        return None

    def _locate_fault(self, fault: SubmissionFault) -> FormProblem:
        """Return the problem beside the input that the fault is about."""
        anchor = "files"
        if 1 <= fault.line <= len(self.file_rows):
            row = self.file_rows[fault.line - 1]
            anchor = f"{_INPUT_OF_FIELD.get(fault.field, 'file')}-{row.key}"
        return FormProblem(anchor, fault.message, "not_registrable")

    def _record_problems(self) -> None:
        wrong: dict[str, list[str]] = {}
        for problem in self.problems:
            wrong.setdefault(problem.anchor, []).append(problem.code)
        typed = {
            f"row-{row.key}": f"{row.document_type} {row.person} {row.filename}"
            for row in self.rows
            if row.filename
        }
        site = self.site.site_id if self.site else ""
        form_errors.record_form_errors(
            "packet", codes=wrong, values=typed, by=self.user.actor, site=site
        )


def _read(data: Mapping[str, str], name: str, key: str) -> str:
    """Return the value of one input of a row."""
    return data.get(f"{name}-{key}", "").strip()[:MAX_FIELD_CHARACTERS]
