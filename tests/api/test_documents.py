"""Documents and sites: what a token sees of them, and in which words."""

import pytest

from ingestion.core.breaker import BreakerState
from ingestion.models import Document, PortalLimitState
from ingestion.rules.findings import RuleFinding
from tests.api.test_problems import problem
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


def test_a_document_tells_what_was_found_and_what_to_do(program, packet):
    document = packet.documents.get(state="REJECTED")
    said = program.get(f"documents/{document.pk}").json()
    assert (said["state"], said["code"]) == ("REJECTED", "SIGNATURE_MISSING")
    (finding,) = said["findings"]
    assert finding["code"] == "SIGNATURE_MISSING"
    assert all(finding[part] for part in ("what", "why", "do"))
    assert said["content_url"] is None
    assert said["packet"] == packet.reference


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


def test_documents_are_found_by_what_they_are(program, packet):
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


@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("2000-01-01T00:00:00Z", 3),
        ("2000-01-01T00:00:00%2B02:00", 3),
        ("2000-01-01T00:00:00+02:00", 3),
        ("2100-01-01T00:00:00Z", 0),
    ],
)
def test_documents_are_found_since_a_moment_whatever_became_of_the_plus(
    program, packet, since, found
):
    assert len(states(program.get(f"documents?since={since}"))) == found


@pytest.mark.parametrize(
    "since", ["yesterday", "2026-11-01T00:00:00", "0001-01-01T00:00:00%2B14:00"]
)
def test_a_moment_without_a_zone_or_a_calendar_is_refused(program, since):
    problem(program.get(f"documents?since={since}"), 422)


def test_another_sites_documents_do_not_exist(stranger, packet):
    document = packet.documents.first()
    for path in (f"documents/{document.pk}", f"documents/{document.pk}/content"):
        problem(stranger.get(path), 404)
    assert states(stranger.get("documents")) == []
    assert states(stranger.get("documents?site=0203")) == []


def test_operations_see_every_site(ops, packet, stranger):
    make_batch(stranger.token.site)
    assert len(states(ops.get("documents"))) == 4
    assert {each["site_id"] for each in ops.get("sites").json()["items"]} == {"0203", "0999"}


def test_a_twin_is_named_by_its_address(program, packet):
    first, second = packet.documents.order_by("pk")[:2]
    Document.objects.filter(pk=second.pk).update(duplicate_of=first)
    said = program.get(f"documents/{second.pk}").json()
    assert said["duplicate_of"] == f"http://testserver/api/v1/documents/{first.pk}"


def test_a_site_is_listed_with_how_its_portal_does(program, stranger, site):
    (said,) = program.get("sites").json()["items"]
    assert (said["site_id"], said["study"], said["portal_answers"]) == ("0203", "SLX-301", True)
    PortalLimitState.objects.create(
        portal=site.portal, breaker=BreakerState.OPEN, shut_until=1_900_000_000_000_000
    )
    said = program.get("sites/0203").json()
    assert said["portal_answers"] is False
    assert said["next_probe_at"].startswith("2030-")
    problem(program.get("sites/0999"), 404)
    problem(program.get("sites/nobody"), 404)
