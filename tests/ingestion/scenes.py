"""What several tests of whole hosts have in common: a batch with a middle, and how it must end."""

from contextlib import contextmanager

from audit.ledger.queries import timeline
from ingestion.core.states import BatchState
from ingestion.models import Document
from samples.portal import SamplePortal, SiteLimit
from sites.models import Portal


@contextmanager
def slow_portal(corpus, submit, *, per_second):
    """A submitted batch whose portal gives its documents one by one: there is a middle."""
    slow = {corpus.expectations[0].site_id: SiteLimit(per_second, 1)}
    with SamplePortal(corpus.directory, slow, faults=0) as portal:
        batch = submit(corpus, portal)
        Portal.objects.update(rate_per_second=per_second, burst=1)
        yield batch


def is_completed(batch):
    batch.refresh_from_db()
    return batch.state == BatchState.COMPLETED


def some_are_settled(batch):
    return batch.documents.exclude(settled_at=None).exists()


def everything_is_as_expected(corpus, batch):
    documents = {
        (document.site.site_id, document.doc_id): document
        for document in batch.documents.select_related("site")
    }
    for expected in corpus.expectations:
        assert_as_expected(documents[expected.site_id, expected.doc_id], expected)


def assert_as_expected(document, expected):
    """What its generator says; or, for a scan with a date that was hard to read, a person looks.

    A corpus of today has other dates tomorrow: how well scans are read is asserted elsewhere.
    """
    if document.code != "OCR_LOW_CONFIDENCE":
        assert document.state == expected.state, expected


def each_was_filed_once():
    for document in Document.objects.on_file():
        events = [entry.event for entry in timeline(document.subject)]
        assert events.count("document.filed") == 1
