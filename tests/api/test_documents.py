"""Documents and sites as a token sees them."""

import pytest

from audit.ledger.log import ledger
from ingestion.core.breaker import BreakerState
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.documents import renditions
from ingestion.models import Document, PortalLimitState
from ingestion.rules.findings import RuleFinding
from tests.api.conftest import check_problem
from tests.factories import make_batch, make_user, verdict
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)


@pytest.fixture
def packet(site):
    return make_packet(site, make_user(), FILED, REJECTED, IN_REVIEW)


def states(response):
    return [each["state"] for each in response.json()["items"]]


def test_a_document_has_its_findings_with_instructions(program, packet):
    document = packet.documents.get(state="REJECTED")
    body = program.get(f"documents/{document.pk}").json()
    assert (body["state"], body["code"]) == ("REJECTED", "SIGNATURE_MISSING")
    (finding,) = body["findings"]
    assert finding["code"] == "SIGNATURE_MISSING"
    assert all(finding[part] for part in ("what", "why", "do"))
    assert body["content_url"] is None
    assert body["packet"] == packet.reference


def test_the_findings_of_several_pages_are_listed_one_by_one(program, site):
    found = [
        RuleFinding("OCR_LOW_CONFIDENCE", page, {"what": "the text", "page": page})
        for page in (18, 24)
    ]
    document = make_packet(site, make_user(), verdict("IN_REVIEW", *found)).documents.get()
    listed = program.get(f"documents/{document.pk}").json()["findings"]
    assert [(each["page"], each["what"]) for each in listed] == [
        (18, "We could not read the text on page 18 with certainty."),
        (24, "We could not read the text on page 24 with certainty."),
    ]


def test_documents_can_be_filtered(program, packet):
    filed = packet.documents.get(state="ARCHIVED")
    assert states(program.get("documents")) == ["IN_REVIEW", "REJECTED", "ARCHIVED"]
    assert states(program.get("documents?state=REJECTED")) == ["REJECTED"]
    assert states(program.get(f"documents?sha256={filed.sha256}")) == ["ARCHIVED"]
    assert states(program.get("documents?document_type=form-fda-1572")) == ["REJECTED"]
    assert states(program.get(f"documents?batch={packet.batch}&limit=1")) == ["IN_REVIEW"]
    assert states(program.get("documents?study=SLX-301&site=0203&doc_id=irb-approval")) == [
        "ARCHIVED"
    ]
    assert states(program.get("documents?study=other")) == []


def test_a_code_has_its_attributes_wherever_it_is_returned(program, packet):
    rejected = packet.documents.get(state="REJECTED")
    expected = ["compliance", "major", "site", False]
    names = ["category", "severity", "owner", "retryable"]
    body = program.get(f"documents/{rejected.pk}").json()
    (line,) = program.get("documents?code=SIGNATURE_MISSING").json()["items"]
    for each in (body, *body["findings"], line):
        assert [each[name] for name in names] == expected
    (filed,) = program.get("documents?state=ARCHIVED").json()["items"]
    assert [filed[name] for name in ("code", *names)] == ["", None, None, None, None]


def test_a_code_that_is_not_registered_any_more_has_no_attributes(program, packet):
    packet.documents.filter(state="REJECTED").update(code="NO_LONGER_A_CODE")
    (line,) = program.get("documents?code=NO_LONGER_A_CODE").json()["items"]
    assert (line["category"], line["owner"]) == (None, None)


def test_documents_can_be_filtered_by_the_attributes_of_their_code(program, packet):
    assert states(program.get("documents?owner=site")) == ["REJECTED"]
    assert states(program.get("documents?owner=qa&severity=major")) == ["IN_REVIEW"]
    assert states(program.get("documents?category=compliance&owner=qa")) == []
    assert states(program.get("documents?retryable=true")) == []
    assert states(program.get("documents?retryable=false")) == ["IN_REVIEW", "REJECTED"]
    check_problem(program.get("documents?owner=nobody"), 422)


@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("2000-01-01T00:00:00Z", 3),
        ("2000-01-01T00:00:00%2B02:00", 3),
        ("2000-01-01T00:00:00+02:00", 3),
        ("2100-01-01T00:00:00Z", 0),
    ],
)
def test_documents_can_be_filtered_by_time_with_or_without_an_encoded_plus(
    program, packet, since, found
):
    assert len(states(program.get(f"documents?since={since}"))) == found


@pytest.mark.parametrize(
    "since", ["yesterday", "2026-11-01T00:00:00", "0001-01-01T00:00:00%2B14:00"]
)
def test_a_time_without_a_zone_or_outside_the_calendar_is_refused(program, since):
    check_problem(program.get(f"documents?since={since}"), 422)


def test_another_sites_documents_are_not_found(other_program, packet):
    document = packet.documents.first()
    for path in (f"documents/{document.pk}", f"documents/{document.pk}/content"):
        check_problem(other_program.get(path), 404)
    assert states(other_program.get("documents")) == []
    assert states(other_program.get("documents?site=0203")) == []


def test_operations_see_all_sites(ops, packet, other_program):
    make_batch(other_program.token.site)
    assert len(states(ops.get("documents"))) == 4
    assert {each["site_id"] for each in ops.get("sites").json()["items"]} == {"0203", "0999"}


def test_a_document_says_whether_its_content_is_the_original(program, packet):
    kinds = {}
    for document in packet.documents.all():
        body = program.get(f"documents/{document.pk}").json()
        kinds[body["state"]] = (body["content_kind"], body["content_url"] is not None)
    assert kinds == {
        "ARCHIVED": ("original", True),
        "REJECTED": (None, False),
        "IN_REVIEW": (None, False),
    }


def test_only_the_inert_rendition_of_an_original_under_lock_has_an_address(program, site, tmp_path):
    scripted = verdict("ARCHIVED", RuleFinding("ACTIVE_CONTENT", facts={"kinds": "javascript"}))
    document = make_packet(site, make_user(), scripted).documents.get()
    for kind in (RenditionKind.OFFICE_PDF, RenditionKind.INERT):
        rendered = RenderedFile(kind, tmp_path, f"{kind:0<64}", 1, "application/pdf", "x")
        with ledger():
            renditions.record_rendition(Document.lock(document.pk), rendered)
    body = program.get(f"documents/{document.pk}").json()
    assert body["content_kind"] == "inert"
    addresses = {each["kind"]: each["content_url"] for each in body["renditions"]}
    assert addresses["office_pdf"] is None
    assert addresses["inert"].endswith(f"/content?rendition={'inert':0<64}")


def test_a_duplicate_has_the_address_of_the_original(program, packet):
    first, second = packet.documents.order_by("pk")[:2]
    Document.objects.filter(pk=second.pk).update(duplicate_of=first)
    body = program.get(f"documents/{second.pk}").json()
    assert body["duplicate_of"] == f"http://testserver/api/v1/documents/{first.pk}"


def test_a_site_has_the_status_of_its_portal(program, other_program, site):
    (body,) = program.get("sites").json()["items"]
    assert (body["site_id"], body["study"], body["portal_answers"]) == ("0203", "SLX-301", True)
    PortalLimitState.objects.create(
        portal=site.portal, breaker=BreakerState.OPEN, probe_at=1_900_000_000_000_000
    )
    body = program.get("sites/0203").json()
    assert body["portal_answers"] is False
    assert body["next_probe_at"].startswith("2030-")
    PortalLimitState.objects.update(probe_at=1)  # Then it is asked with the next document.
    body = program.get("sites/0203").json()
    assert (body["portal_answers"], body["next_probe_at"]) == (False, None)
    check_problem(program.get("sites/0999"), 404)
    check_problem(program.get("sites/nobody"), 404)
