"""Describes a document's outcome for its site or for staff: what happened, why, what to do.

`ingestion.rules.finding_texts` makes the sentences of the findings. This module selects the
sentences and the actions for the state of the document: advice is shown only together with the
button that it names. Callers pass documents with `findings` and the relations PREFETCHED.
"""

from dataclasses import dataclass

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
from ingestion.rules.finding_texts import (
    CodeAttributes,
    Sentences,
    describe_attributes,
    format_grouped_sentences,
)
from web.documents.page_display import PageImage
from web.shell.wording import format_day

MAX_DOCUMENTS_IN_LIST = 25  # of documents that need an action; the heading has the full number
# Relations that the actions of a document depend on, for `prefetch_related`.
PREFETCHED = ("corrections", "qa_decisions", "review_requests")


@dataclass(frozen=True, slots=True)
class FindingDisplay:
    """All findings of one code in a document, in words."""

    code: str
    sentences: Sentences
    tone: str  # the class of components.css: bad, warn or info
    findings: tuple[Finding, ...]
    advice_heading: str = ""  # "" if nothing has to be done
    page_image: PageImage | None = None  # of the page of the first finding

    @property
    def attributes(self) -> CodeAttributes | None:
        """Return the attributes of the code in words, or None if it is not registered."""
        return describe_attributes(self.code)

    @property
    def pages(self) -> list[int]:
        """Return the numbers of the pages with findings, in order."""
        return sorted({finding.page for finding in self.findings if finding.page})


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """Describes the outcome of a document for a page, and the actions of its site."""

    document: Document
    note: str  # one line that is sufficient if nothing has to be done
    findings: tuple[FindingDisplay, ...]
    needs_site: bool  # whether the site must act and has not sent another file yet
    correction: Document | None = None  # the file that the site sent to replace this one
    newer: Document | None = None  # a newer document with the same identifier

    @property
    def can_be_corrected(self) -> bool:
        """Return whether the site can correct the declaration."""
        return self.needs_site

    @property
    def can_be_replaced(self) -> bool:
        """Return whether the site can send another file while QA has not decided."""
        return self.document.state == DocumentState.IN_REVIEW

    @property
    def can_be_uploaded_instead(self) -> bool:
        """Return whether the site can upload a file that its portal does not deliver."""
        is_waiting = corrections.is_waiting_for_portal(self.document)
        return is_waiting and self.correction is None

    @property
    def can_be_redeclared(self) -> bool:
        """Return whether the site can correct the type and the person."""
        is_open = self.can_be_corrected or self.can_be_replaced
        return is_open and not declarations.explain_closed_to_site(self.document)

    @property
    def can_be_retried(self) -> bool:
        """Return whether the site can retry a download that the portal did not deliver."""
        is_rejected = self.document.state == DocumentState.REJECTED
        return self.can_be_corrected and is_rejected and self.document.code == "DOWNLOAD_FAILED"

    @property
    def can_be_reviewed(self) -> bool:
        """Return whether the site can request a review by QA."""
        return self.can_be_corrected and not review_requests.explain_review_refusal(self.document)

    @property
    def upload_label(self) -> str:
        """Return the label of a link to the upload form; "" if there is no such link.

        The link is for documents that the site neither corrects nor replaces.
        """
        state = self.document.state
        is_failing = state == DocumentState.RECEIVED and self.document.failing_since
        if (state == DocumentState.HELD or is_failing) and not self.can_be_uploaded_instead:
            return gettext("Upload the file here")
        has_remark = any(finding.tone != "info" for finding in self.findings)
        if state == DocumentState.ARCHIVED and has_remark:
            return gettext("Upload a newer version")
        return ""

    @property
    def person(self) -> str:
        """Return the declared person of the document, or ""."""
        return get_declared_person(self.document)

    @property
    def has_actions(self) -> bool:
        """Return whether the site can do something about the document on its page."""
        is_open = self.can_be_corrected or self.can_be_replaced or self.can_be_uploaded_instead
        return bool(is_open or self.upload_label)

    @property
    def main_finding(self) -> FindingDisplay | None:
        """Return the finding that decided, or None."""
        return self.findings[0] if self.findings else None


def get_declared_person(document: Document) -> str:
    """Return the declared person, for the form of a correction.

    The registration of the correction makes the same `doc_id` of it.
    """
    return Declaration.of(document).person


_DOWNLOAD_FAILING = _(
    "The portal has not sent the file yet. The download is retried. You can also upload the file "
    "here."
)
_DOWNLOAD_FAILING_FOR_STAFF = _("The portal has not sent the file yet. The download is retried.")
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
    DocumentState.DIVIDED: _(
        "This file holds several documents. Each of them is checked and filed on its own."
    ),
}
_NOTES_FOR_STAFF = _NOTES | {
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
# In these states the site always has an action. In rejected and returned documents it has one
# until it has sent a replacement.
_STATES_WITH_ADVICE = {DocumentState.IN_REVIEW, DocumentState.HELD, DocumentState.ARCHIVED}
_STATES_WITHOUT_FINDINGS = {
    DocumentState.RECEIVED,
    DocumentState.VALIDATING,
    DocumentState.DEDUPED,
    DocumentState.DIVIDED,
}


def describe_outcome(
    document: Document, *, for_staff: bool = False, needs_site: bool | None = None
) -> DocumentOutcome:
    """Return what the pages show about a document, to its site or to staff.

    `needs_site` tells whether the document is one of `needing_site()`. Callers with many documents
    find it out with one query; without it, this function runs a query.
    """
    state = DocumentState(document.state)
    correction = _find_correction(document)
    if needs_site is None:
        rows = Document.objects.needing_site().filter(pk=document.pk)
        needs_site = state in STATES_NEEDING_SITE and rows.exists()
    findings: tuple[FindingDisplay, ...] = ()
    if state not in _STATES_WITHOUT_FINDINGS and not is_overruled(document):
        with_advice = for_staff or needs_site or state in _STATES_WITH_ADVICE
        findings = describe_findings(document, for_staff=for_staff, with_advice=with_advice)
    is_replaced = state in STATES_NEEDING_SITE and not needs_site and correction is None
    return DocumentOutcome(
        document=document,
        note=_describe_state(document, state, for_staff=for_staff),
        findings=findings,
        needs_site=needs_site,
        correction=correction,
        newer=corrections.find_newer_version(document) if is_replaced else None,
    )


def _find_correction(document: Document) -> Document | None:
    """Return the last correction, as `corrections.find_correction`, but from prefetched rows."""
    sent = [
        correction
        for correction in document.corrections.all()
        if correction.state != DocumentState.CANCELLED
    ]
    return max(sent, key=lambda correction: correction.pk, default=None)


def is_overruled(document: Document) -> bool:
    """Return whether QA filed the document in spite of its findings, which are then history.

    The checks never file a document with such a finding, except for remarks of a study's own
    rules. Only those cost a query.
    """
    if document.state != DocumentState.ARCHIVED:
        return False
    dispositions = {CODES[finding.code].disposition for finding in document.current_findings}
    if dispositions.isdisjoint({Disposition.REVIEW, Disposition.REJECT}):
        return False
    return document.qa_decisions.filter(action__in=FILING_ACTIONS).exists()


def describe_findings(
    document: Document, *, for_staff: bool = False, with_advice: bool = True
) -> tuple[FindingDisplay, ...]:
    """Return the findings of a document in words, one display for each code."""
    heading = gettext("What to check") if for_staff else gettext("What to do")
    by_code: dict[str, list[Finding]] = {}
    for finding in document.current_findings:
        by_code.setdefault(finding.code, []).append(finding)
    displays = []
    for code, findings in by_code.items():
        entry = CODES.get(code)  # None for a finding of an older version, whose code was removed
        tone = _TONES.get(DocumentState(document.state), "info")
        if entry and entry.disposition is Disposition.INFO:
            tone = "info"
        displays.append(
            FindingDisplay(
                code,
                format_grouped_sentences(
                    code, findings, type_name=document.type_name, for_staff=for_staff
                ),
                tone,
                tuple(findings),
                advice_heading=heading if with_advice else "",
            )
        )
    return tuple(displays)


def _describe_state(document: Document, state: DocumentState, *, for_staff: bool) -> str:
    """Return the note of a document; "" if its findings say everything."""
    if state is DocumentState.DEDUPED:
        return _describe_duplicate(document.duplicate_of)
    if is_overruled(document):
        return gettext("QA reviewed this document and filed it.")
    if state is DocumentState.RECEIVED and document.failing_since:
        return str(_DOWNLOAD_FAILING_FOR_STAFF if for_staff else _DOWNLOAD_FAILING)
    if state is DocumentState.RECEIVED and document.is_redeclared:
        return gettext("The type or person was corrected. The checks run again.")
    if state is DocumentState.WITHDRAWN and _find_correction(document):
        return str(_REPLACED)
    return str((_NOTES_FOR_STAFF if for_staff else _NOTES).get(state, ""))


def _describe_duplicate(original: Document | None) -> str:
    if original is None or original.settled_at is None:
        return gettext("The same file is already on file. You do not need to do anything.")
    sentence = gettext("Already on file since {date}. You do not need to do anything.")
    return sentence.format(date=format_day(original.settled_at))


def list_needing_action(
    waiting: QuerySet[Document], *, for_staff: bool = False
) -> list[DocumentOutcome]:
    """Return the outcomes of the MAX_DOCUMENTS_IN_LIST documents that have waited longest."""
    rows = waiting.select_related("site", "duplicate_of")
    documents = rows.prefetch_related("findings", "corrections")[:MAX_DOCUMENTS_IN_LIST]
    return [
        describe_outcome(document, for_staff=for_staff, needs_site=True) for document in documents
    ]
