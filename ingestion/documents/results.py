"""What became of each document of a batch, in the words that its site reads."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Prefetch

from ingestion.core.states import DocumentState
from ingestion.models import Batch, Document, Finding
from ingestion.rules.finding_texts import Sentences, sentences

_AT_ONCE = 500
_WORKING = Sentences("We have not finished with it.", "", "Nothing to do now.")
_PLAIN: Mapping[DocumentState, Sentences] = {
    DocumentState.ARCHIVED: Sentences("It is on file.", "", "Nothing to do."),
    DocumentState.CANCELLED: Sentences(
        "It was cancelled before it was checked.", "", "Send it again if it is needed after all."
    ),
    DocumentState.WITHDRAWN: Sentences(
        "It was filed in error, or its site replaced it while it was in review.",
        "",
        "Nothing to do.",
    ),
}


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """What became of one document, for its sender."""

    site: str
    doc_id: str
    sha256: str
    state: DocumentState
    code: str
    what: str  # happened
    why: str  # it matters
    do: str
    url: str  # at its portal; "" for an upload

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def list_results(batch: Batch) -> Iterator[DocumentResult]:
    """Every document of the batch, in the order of submission, with the words its site reads."""
    primary = Prefetch(
        "findings", Finding.objects.filter(is_primary=True).order_by("attempt"), to_attr="decisions"
    )
    rows = batch.documents.order_by("pk").select_related("site").prefetch_related(primary)
    return map(_result, rows.iterator(_AT_ONCE))


def _result(document: Document) -> DocumentResult:
    decisions: list[Finding] = document.decisions  # type: ignore[attr-defined] # prefetched
    said = _PLAIN.get(DocumentState(document.state), _WORKING)
    if document.code:
        own = [decision.facts for decision in decisions if decision.code == document.code]
        facts: dict[str, Any] = own[-1] if own else {}
        said = sentences(document.code, facts, type_name=document.type_name)
    return DocumentResult(
        site=document.site.site_id,
        doc_id=document.doc_id,
        sha256=document.sha256 or document.expected_sha256,
        state=DocumentState(document.state),
        code=document.code,
        what=said.what,
        why=said.why,
        do=said.do,
        url=document.url,
    )
