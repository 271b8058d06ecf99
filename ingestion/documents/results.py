"""Lists the result of each document of a batch, in the sentences that its site reads."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Prefetch

from audit.translation import gettext
from audit.translation import gettext_noop as _
from ingestion.core.states import DocumentState
from ingestion.models import Batch, Finding
from ingestion.rules.finding_texts import Sentences, format_sentences

_ROWS_PER_QUERY = 500
_UNFINISHED_SENTENCES = Sentences(
    _("The document is still being processed."), "", _("No action is needed now.")
)
# For documents without a finding code.
_SENTENCES: Mapping[DocumentState, Sentences] = {
    DocumentState.ARCHIVED: Sentences(_("The document is on file."), "", _("No action is needed.")),
    DocumentState.DIVIDED: Sentences(
        _("The file holds several documents. Each of them has a result of its own."),
        "",
        _("No action is needed for the file."),
    ),
    DocumentState.CANCELLED: Sentences(
        _("The document was cancelled before it was checked."),
        "",
        _("Send it again if it is still needed."),
    ),
    DocumentState.WITHDRAWN: Sentences(
        _("The document was filed in error, or the site replaced it while it was in review."),
        "",
        _("No action is needed."),
    ),
}


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """Describes the result of one document for its sender."""

    site: str
    doc_id: str
    sha256: str
    state: DocumentState
    code: str
    what: str  # a sentence: what happened
    why: str  # a sentence: why it matters
    do: str  # a sentence: what to do
    url: str  # the address at its portal; "" for an upload
    part_of: str  # the doc_id of the divided file of which this is a part, or ""
    page_range: list[int] | None  # the first and the last page of a part in its file

    def as_json(self) -> dict[str, Any]:
        """Return the result as a dict, as interfaces and files show it."""
        return asdict(self)


def list_results(batch: Batch) -> Iterator[DocumentResult]:
    """Yield the result of every document of the batch, in the order of submission."""
    primary = Prefetch(
        "findings", Finding.objects.filter(is_primary=True).order_by("attempt"), to_attr="decisions"
    )
    rows = (
        batch.documents.order_by("pk").select_related("site", "part_of").prefetch_related(primary)
    )
    for document in rows.iterator(_ROWS_PER_QUERY):
        state, code = DocumentState(document.state), document.code
        if not code:
            english = _SENTENCES.get(state, _UNFINISHED_SENTENCES)
            text = Sentences(gettext(english.what), gettext(english.why), gettext(english.do))
        else:
            decisions: list[Finding] = document.decisions  # type: ignore[attr-defined] # prefetched
            facts: dict[str, Any] = {}  # of the last decision with this code
            for decision in decisions:
                facts = decision.facts if decision.code == code else facts
            text = format_sentences(code, facts, type_name=document.type_name)
        yield DocumentResult(
            site=document.site.site_id,
            doc_id=document.doc_id,
            sha256=document.sha256 or document.expected_sha256,
            state=state,
            code=code,
            what=text.what,
            why=text.why,
            do=text.do,
            url=document.url,
            part_of=document.part_of.doc_id if document.part_of else "",
            page_range=(
                [document.first_page, document.last_page] if document.has_pages_of_a_file else None
            ),
        )
