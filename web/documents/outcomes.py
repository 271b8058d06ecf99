"""The outcome of a document, for its site or for staff: what happened, why, and what to do.

`ingestion.rules.finding_texts` makes the sentences of the findings. This module decides which of
them a state calls for, and which buttons answer them: advice is shown only where its button is.
Callers pass documents with `findings`, `corrections` and `qa_decisions` prefetched.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.intake import corrections, declarations
from ingestion.intake.declarations import Declaration
from ingestion.models import Document, Finding
from ingestion.review import review_requests
from ingestion.review.decision_rules import FILING_ACTIONS
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.finding_texts import Sentences, grouped_sentences
from web.shell.wording import format_day

MAX_NEEDING_SHOWN = 25  # documents in a list; the heading gives the full number
# Relations that the buttons of a document depend on, for `prefetch_related`.
ACTED_ON = ("corrections", "qa_decisions", "review_requests")


@dataclass(frozen=True, slots=True)
class FindingDisplay:
    """All findings of one code in a document, in words."""

    code: str
    said: Sentences
    tone: str  # of components.css: bad, warn, info
    findings: tuple[Finding, ...]
    advice: str = ""  # the heading of what to do, or to check; "" where nothing can be done
    picture: Any = None  # of the first page, for `documents/_page_image.html`

    @property
    def pages(self) -> list[int]:
        """Return the pages that the findings are about, in order, without the whole document."""
        return sorted({finding.page for finding in self.findings if finding.page})


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    document: Document
    note: str  # one line that suffices when nothing is to be done
    remarks: tuple[FindingDisplay, ...]
    needs_site: bool  # nothing was sent in its place yet
    correction: Document | None = None  # what was sent in its place
    newer: Document | None = None  # or under the same doc_id

    @property
    def can_be_corrected(self) -> bool:
        return self.needs_site

    @property
    def can_be_replaced(self) -> bool:
        """Its site may send another file while QA has not decided."""
        return self.document.state == DocumentState.IN_REVIEW

    @property
    def can_be_redeclared(self) -> bool:
        """Its site may correct its type and person."""
        is_open = self.can_be_corrected or self.can_be_replaced
        return is_open and not declarations.explain_closed_to_site(self.document)

    @property
    def can_be_retried(self) -> bool:
        """Its portal would not give it."""
        is_rejected = self.document.state == DocumentState.REJECTED
        return self.can_be_corrected and is_rejected and self.document.code == "DOWNLOAD_FAILED"

    @property
    def can_be_asked_about(self) -> bool:
        return self.can_be_corrected and not review_requests.explain_refusal(self.document)

    @property
    def upload_label(self) -> str:
        """Of the link to the upload form, for what is neither corrected nor replaced; or ""."""
        state = self.document.state
        is_late = state == DocumentState.RECEIVED and self.document.failing_since
        if state == DocumentState.HELD or is_late:
            return gettext("Upload the file here")
        if state == DocumentState.ARCHIVED and any(each.tone != "info" for each in self.remarks):
            return gettext("Upload a newer version")
        return ""

    @property
    def person(self) -> str:
        return declared_person_of(self.document)

    @property
    def has_actions(self) -> bool:
        return bool(self.can_be_corrected or self.can_be_replaced or self.upload_label)

    @property
    def main(self) -> FindingDisplay | None:
        return self.remarks[0] if self.remarks else None


def declared_person_of(document: Document) -> str:
    """Whose it is, for the form of a correction: register makes the same doc_id of it."""
    return Declaration.of(document).person


_LATE = _(
    "The portal has not sent the file yet. The download is retried. You can also upload the file "
    "here."
)
_STAFF_LATE = _("The portal has not sent the file yet. The download is retried.")
_REPLACED = _("The site replaced this file during review. The file and its history are kept.")
_NOTES = {
    DocumentState.IN_REVIEW: _(
        "QA is reviewing this document. You do not need to do anything, and you will see the "
        "decision here. Until QA decides, you can still correct or replace the document."
    ),
    DocumentState.HELD: _(
        "There is a technical problem on our side or at the portal. You do not need to do anything."
    ),
    DocumentState.WITHDRAWN: _("Filed in error. The file and its history are kept."),
    DocumentState.CANCELLED: _("Cancelled before it was checked."),
}
_STAFF_NOTES = _NOTES | {
    DocumentState.IN_REVIEW: _("Waiting for a decision by QA."),
    DocumentState.HELD: _(
        "There is a technical problem in SiteLedger or at the portal. Operations can retry the "
        "document."
    ),
}
_TONES = {
    DocumentState.REJECTED: "bad",
    DocumentState.RETURNED: "warn",
    DocumentState.ARCHIVED: "warn",
    DocumentState.HELD: "warn",
}
# In these the site can do something, besides what was rejected or returned and not replaced yet.
_ADVISED = {DocumentState.IN_REVIEW, DocumentState.HELD, DocumentState.ARCHIVED}
_SILENT = {DocumentState.RECEIVED, DocumentState.VALIDATING, DocumentState.DEDUPED}


def describe_outcome(
    document: Document, *, for_staff: bool = False, needs_site: bool | None = None
) -> DocumentOutcome:
    """Return what the pages say of a document, to its site or to staff.

    `needs_site`: whether it is one of `needing_site()`, for callers who asked for many at once.
    """
    state = DocumentState(document.state)
    correction = _correction(document)
    if needs_site is None:
        own = Document.objects.needing_site().filter(pk=document.pk)
        needs_site = state in STATES_NEEDING_SITE and own.exists()
    is_replaced = state in STATES_NEEDING_SITE and not needs_site and correction is None
    advised = for_staff or needs_site or state in _ADVISED
    said = describe_findings(document, for_staff=for_staff, advised=advised)
    return DocumentOutcome(
        document=document,
        note=_note(document, state, for_staff=for_staff),
        remarks=() if state in _SILENT or is_overruled(document) else said,
        needs_site=needs_site,
        correction=correction,
        newer=corrections.find_newer_version(document) if is_replaced else None,
    )


def _correction(document: Document) -> Document | None:
    """The last, as `correcting.correction`: `corrections` may be prefetched."""
    sent = [each for each in document.corrections.all() if each.state != DocumentState.CANCELLED]
    return max(sent, key=lambda each: each.pk, default=None)


def is_overruled(document: Document) -> bool:
    """Whether QA filed it in spite of what stands in its findings: those are history then.

    The checks file nothing that has such a finding, but for remarks of a study's own rules, and
    those alone cost a query.
    """
    if document.state != DocumentState.ARCHIVED:
        return False
    found = {CODES[each.code].disposition for each in document.current_findings}
    if found.isdisjoint({Disposition.REVIEW, Disposition.REJECT}):
        return False
    return document.qa_decisions.filter(action__in=FILING_ACTIONS).exists()


def describe_findings(
    document: Document, *, for_staff: bool = False, advised: bool = True
) -> tuple[FindingDisplay, ...]:
    """Return what was found, in words, with one remark for each code.

    Remarks have no advice unless it is `advised`.
    """
    heading = gettext("What to check") if for_staff else gettext("What to do")
    by_code: dict[str, list[Finding]] = {}
    for finding in document.current_findings:
        by_code.setdefault(finding.code, []).append(finding)
    return tuple(
        FindingDisplay(
            code,
            grouped_sentences(code, findings, type_name=document.type_name, for_staff=for_staff),
            _tone(code, document),
            tuple(findings),
            advice=heading if advised else "",
        )
        for code, findings in by_code.items()
    )


def _tone(code: str, document: Document) -> str:
    known = CODES.get(code)  # records outlive codes
    if known and known.disposition is Disposition.INFO:
        return "info"
    return _TONES.get(DocumentState(document.state), "info")


def _note(document: Document, state: DocumentState, *, for_staff: bool) -> str:
    if state is DocumentState.DEDUPED:
        return _already_on_file(document)
    if is_overruled(document):
        return gettext("QA reviewed this document and filed it.")
    if state is DocumentState.RECEIVED and document.failing_since:
        return str(_STAFF_LATE if for_staff else _LATE)
    if state is DocumentState.RECEIVED and document.is_redeclared:
        return gettext("The type or person was corrected. The checks run again.")
    if state is DocumentState.WITHDRAWN and _correction(document):
        return str(_REPLACED)
    return str((_STAFF_NOTES if for_staff else _NOTES).get(state, ""))


def _already_on_file(document: Document) -> str:
    twin = document.duplicate_of
    if twin is None or twin.settled_at is None:
        return gettext("The same file is already on file. You do not need to do anything.")
    sentence = gettext("Already on file since {date}. You do not need to do anything.")
    return sentence.format(date=format_day(twin.settled_at))


def list_needing_action(
    waiting: QuerySet[Document], *, for_staff: bool = False
) -> list[DocumentOutcome]:
    """Return the outcomes of the MAX_NEEDING_SHOWN documents that have waited longest."""
    rows = waiting.select_related("site", "duplicate_of")
    shown = rows.prefetch_related("findings", "corrections")[:MAX_NEEDING_SHOWN]
    return [describe_outcome(each, for_staff=for_staff, needs_site=True) for each in shown]
