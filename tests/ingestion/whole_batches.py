"""Provides a slow batch for tests of whole hosts, and checks of how a batch ended."""

from contextlib import contextmanager

from audit.ledger.queries import list_entries
from ingestion.core.states import BatchState
from ingestion.models import Document
from samples.portal import SamplePortal, SiteLimit
from sites.models import Portal


@contextmanager
def slow_portal(corpus, submit, *, per_second):
    """Yield a submitted batch whose portal serves so few requests per second that it takes long."""
    slow = {corpus.expectations[0].site_id: SiteLimit(per_second, 1)}
    with SamplePortal(corpus.directory, slow, faults=0) as portal:
        batch = submit(corpus, portal)
        Portal.objects.update(rate_per_second=per_second, burst=1)
        yield batch


def is_completed(batch):
    batch.refresh_from_db()
    return batch.state == BatchState.COMPLETED


def has_settled_documents(batch):
    return batch.documents.exclude(settled_at=None).exists()


def assert_outcomes(corpus, batch):
    """Assert that every document of the corpus has its expected outcome."""
    documents = {
        (document.site.site_id, document.doc_id): document
        for document in batch.documents.select_related("site")
    }
    for expected in corpus.expectations:
        assert_outcome(documents[expected.site_id, expected.doc_id], expected)


def assert_outcome(document, expected):
    """Assert that the state is the one that the generator of the document expects.

    A scan whose date is hard to read may go to review instead. The dates of the corpus depend on
    the day, and how well scans are read is tested elsewhere.
    """
    if document.code != "OCR_LOW_CONFIDENCE":
        assert document.state == expected.state, expected


def assert_filed_once():
    """Assert that the ledger has one entry of filing for each filed document."""
    for document in Document.objects.on_file():
        events = [entry.event for entry in list_entries(document.subject)]
        assert events.count("document.filed") == 1
