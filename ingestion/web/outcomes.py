"""What came of a document, in the words its site reads: what happened, why, what to do.

The sentences themselves live in `ingestion.rules.sentences`; here is only which of
them a state calls for. Documents come with `findings` prefetched.
"""

from dataclasses import dataclass
from typing import Any

from ingestion.core.states import NEEDS_SITE, DocumentState
from ingestion.intake import correcting
from ingestion.intake.declarations import Declared
from ingestion.models import Document, Finding
from ingestion.review.table import FILES
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.sentences import Sentences, sentences
from ingestion.web.wording import day


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding, said."""

    code: str
    page: int
    said: Sentences
    tone: str  # of components.css: bad, warn, info
    finding: Finding
    picture: Any = None  # of its page, for `documents/_page.html`


@dataclass(frozen=True, slots=True)
class Outcome:
    document: Document
    note: str  # one line that suffices when nothing is to be done
    remarks: tuple[Remark, ...]
    needs_site: bool  # nothing was sent in its place yet
    correction: Document | None = None  # what was sent in its place
    newer: Document | None = None  # or under the same doc_id

    @property
    def can_be_corrected(self) -> bool:
        return self.needs_site

    @property
    def can_be_retried(self) -> bool:
        """Its portal would not give it."""
        return self.can_be_asked_about and self.document.code == "DOWNLOAD_FAILED"

    @property
    def can_be_asked_about(self) -> bool:
        return self.can_be_corrected and self.document.state == DocumentState.REJECTED

    @property
    def main(self) -> Remark | None:
        return self.remarks[0] if self.remarks else None


def person_of(document: Document) -> str:
    """Whose it is, for the form of a correction: register makes the same doc_id of it."""
    return Declared.of(document).person


_NOTES = {
    DocumentState.IN_REVIEW: "A person in QA looks at this one. You will see the decision here.",
    DocumentState.HELD: "Our side, or the portal's. Nothing to do now.",
    DocumentState.WITHDRAWN: "It was filed in error. The file and its history are kept.",
    DocumentState.CANCELLED: "It was cancelled before it was checked.",
}
_TONES = {
    DocumentState.REJECTED: "bad",
    DocumentState.RETURNED: "warn",
    DocumentState.ARCHIVED: "warn",
    DocumentState.HELD: "warn",
}
_SILENT = {DocumentState.RECEIVED, DocumentState.VALIDATING, DocumentState.DEDUPED}


def outcome(document: Document, *, needs_site: bool | None = None) -> Outcome:
    """Return what the pages say of a document.

    `needs_site`: whether it is one of `needing_site()`, for callers who asked for many at once.
    """
    state = DocumentState(document.state)
    correction = _correction(document)
    if needs_site is None:
        own = Document.objects.needing_site().filter(pk=document.pk)
        needs_site = state in NEEDS_SITE and own.exists()
    is_replaced = state in NEEDS_SITE and not needs_site and correction is None
    return Outcome(
        document=document,
        note=_note(document, state),
        remarks=() if state in _SILENT or is_overruled(document) else remarks(document),
        needs_site=needs_site,
        correction=correction,
        newer=correcting.newer_version(document) if is_replaced else None,
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
    return document.qa_decisions.filter(action__in=FILES).exists()


def remarks(document: Document) -> tuple[Remark, ...]:
    tone = _TONES.get(DocumentState(document.state), "info")
    return tuple(_remark(finding, document, tone) for finding in document.current_findings)


def _remark(finding: Finding, document: Document, tone: str) -> Remark:
    said = sentences(finding.code, finding.facts, type_name=document.type_name)
    known = CODES.get(finding.code)  # records outlive codes
    if known and known.disposition is Disposition.INFO:
        tone = "info"
    return Remark(finding.code, finding.page, said, tone, finding)


def _note(document: Document, state: DocumentState) -> str:
    if state is DocumentState.DEDUPED:
        return _already_on_file(document)
    if is_overruled(document):
        return "A person in QA looked at it, and filed it."
    if state is DocumentState.RECEIVED and document.failing_since:
        return "The portal did not give it yet. We ask again; you can also upload it here."
    return _NOTES.get(state, "")


def _already_on_file(document: Document) -> str:
    twin = document.duplicate_of
    if twin is None or twin.settled_at is None:
        return "The same file is already on file for this site. Nothing to do."
    return f"Already on file since {day(twin.settled_at)}. Nothing to do."
