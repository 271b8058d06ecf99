"""Tests of portal documents whose bytes are on file under another doc_id."""

import pytest

from audit.ledger.queries import list_entries
from ingestion.dispatch.worker_steps import Conclude, apply_steps
from ingestion.models import Document
from ingestion.rules.checks.verdict import CheckedDocument
from ingestion.rules.findings import RuleFinding
from tests import steps
from tests.factories import make_filed, make_leased, make_site, make_user, verdict
from tests.web.scenes import READ

pytestmark = pytest.mark.django_db
SHA = "a" * 64
DOUBT = verdict("IN_REVIEW", RuleFinding("SITE_MISMATCH", 1, {"named": "0417", "expected": "0203"}))


def filed_twice(site, decided=None, doc_id="cv-again"):
    """File the same bytes as `cv` and then, by a later manifest, as another document."""
    first = make_filed(site, "cv", SHA)
    chunk, lease = make_leased(site=site)
    second = chunk.documents.get()
    Document.objects.filter(pk=second.pk).update(doc_id=doc_id)
    assert steps.start_checking(second.pk, lease, sha256=SHA, size=10)
    steps.conclude(second.pk, lease, decided or verdict(), reading=READ)
    return first, Document.objects.get(pk=second.pk)


def test_the_document_is_filed_with_a_finding_that_links_the_other(site):
    first, second = filed_twice(site)
    assert second.state == "ARCHIVED"
    assert second.code == ""
    (finding,) = second.current_findings
    assert (finding.code, finding.is_primary) == ("DUPLICATE_CONTENT", False)
    assert finding.facts == {"also": "cv", "reference": first.packet.reference}
    assert second.duplicate_of == first
    entry = list_entries(second.subject)[-1]
    assert entry.event == "document.filed"
    assert entry.detail["findings"][0]["facts"]["also"] == "cv"


def test_a_document_in_review_has_the_finding_too(site):
    first, second = filed_twice(site, DOUBT)
    assert (second.state, second.code) == ("IN_REVIEW", "SITE_MISMATCH")
    assert [each.code for each in second.current_findings] == ["SITE_MISMATCH", "DUPLICATE_CONTENT"]
    assert second.duplicate_of == first


def test_documents_filed_in_one_transaction_find_each_other(site):
    chunk, lease = make_leased(documents=2, site=site)
    one, other = chunk.documents.order_by("pk")
    for document in (one, other):
        assert steps.start_checking(document.pk, lease, sha256=SHA, size=10)
    apply_steps(
        [
            Conclude(document=document.pk, lease=lease, checked=CheckedDocument(verdict()))
            for document in (one, other)
        ]
    )
    other.refresh_from_db()
    (finding,) = other.current_findings
    assert finding.facts == {"also": one.doc_id, "reference": one.packet.reference}
    assert not Document.objects.get(pk=one.pk).current_findings


def test_the_same_bytes_at_another_site_cause_no_finding(site):
    make_filed(make_site("0417"), "cv", SHA)
    document = make_filed(site, "cv-again", SHA)
    assert document.current_findings == []
    assert document.duplicate_of is None


def test_the_page_links_the_other_document(client, site):
    first, second = filed_twice(site)
    client.force_login(make_user("mara", sites=(site,)))
    page = client.get(f"/documents/{second.pk}/").content.decode()
    assert "The same file is also on file for this site, as cv." in page
    assert f'href="/documents/{first.pk}/"' in page
    assert "sl-finding-info" in page
    packet = client.get(f"/packets/{second.packet.reference}/").content.decode()
    assert "The same file is also on file for this site, as cv." in packet
    assert "All documents are on file" in packet
