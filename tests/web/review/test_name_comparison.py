"""Reviewers compare three names, and a document of another person is not filed."""

import datetime

import pytest
from django.core.files.base import ContentFile

from audit.ledger.queries import list_entries
from ingestion.dispatch.shift import work_shift
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import registration
from ingestion.models import Action, Document
from ingestion.review.decisions import DecisionRefused
from samples.documents import make_sample
from tests.factories import make_read, make_site, make_user
from tests.ingestion.review.reviewers import decide, lead, reviewer

GCP = "gcp-certificate"  # of Margaret Whitfield, who investigates at the sample's first site


@pytest.fixture
def site(db):
    return make_site("1001")


def upload(site, person, slug=GCP):
    """Upload a document as a coordinator, and let a worker read it."""
    today = datetime.datetime.now(datetime.UTC).date()
    content = ContentFile(make_sample(slug, today=today))
    file = registration.UploadedDocument(f"{slug}.pdf", slug, person, content)
    mara = make_user("mara", sites=(site,))
    packet = registration.register_upload(site=site, user=mara, files=[file])
    work_shift()
    return packet.documents.get()


def sent_for(site, doc_id, **read):
    """Return a document in review. A document of a portal has no declared person."""
    document = make_read(site, "cv", doc_id=doc_id, state="IN_REVIEW", **read)
    Document.objects.filter(pk=document.pk).update(url="", spooled="it")
    return document


def page(client, document, person):
    client.force_login(person)
    return client.get(f"/admin/review/{document.pk}/").content.decode()


@pytest.mark.sampled(3)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("person", ["Helena Brandt", "Jane Whitfield", "Margaret", "Whitfield"])
def test_a_certificate_declared_for_another_person_is_not_released(client, site, person):
    document = upload(site, person)
    assert (document.state, document.code) == ("IN_REVIEW", "PERSON_MISMATCH")
    rafael, ines = reviewer("rafael", "Rafael Duarte"), lead("ines", "Inês Duarte")
    content = page(client, document, rafael)
    assert f"<strong>{person}</strong>" in content
    assert "<strong>Margaret Whitfield, MD</strong>" in content
    assert "Registered for the site" in content
    assert "Release and file" not in content
    for action in (Action.RELEASE, Action.OVERRIDE):
        with pytest.raises(DecisionRefused):
            decide(document, action, rafael)
    with pytest.raises(DecisionRefused):
        decide(document, Action.RELEASE, ines)
    with pytest.raises(DecisionRefused, match="reason"):
        decide(document, Action.OVERRIDE, ines, reason="")
    document.refresh_from_db()
    assert document.state == "IN_REVIEW"
    decide(document, Action.OVERRIDE, ines, reason="She married in May and sent the certificate.")
    document.refresh_from_db()
    assert document.state == "ARCHIVED"
    entry = list_entries(document.subject)[-1]
    assert entry.event == "document.overridden"
    assert entry.detail["reason"] == "She married in May and sent the certificate."


@pytest.mark.django_db(transaction=True)
def test_a_full_name_in_any_spelling_is_filed_without_review(site):
    assert upload(site, "Whitfield, M.").state == "ARCHIVED"


@pytest.mark.django_db
def test_the_registered_name_is_shown_beside_the_other_names(client, site):
    make_read(site, "form-fda-1572", investigator="Margaret Whitfield, MD",
              subinvestigators="Daniel Okafor, MD")  # fmt: skip
    found = {"person": "Daniel Okafor, MD"}
    agreeing = sent_for(site, "cv.daniel-okafor", **found)
    content = page(client, agreeing, reviewer("rafael", "Rafael Duarte"))
    assert "Matches the declared name" in content
    assert "Also registered: Margaret Whitfield, MD" in content
    third = sent_for(site, "cv.helena-brandt", **found)
    content = page(client, third, reviewer("ada", "Ada Stone"))
    assert "Differs from the declared name" in content
    assert "Matches one of the names" in content
    stranger = sent_for(site, "cv.lauren-beck")
    content = page(client, stranger, reviewer("otto", "Otto Lang"))
    assert "No name was read." in content
    assert "Not registered" in content


@pytest.mark.django_db
def test_a_document_without_a_person_shows_no_names(client, site):
    document = make_read(site, "irb-roster", state="IN_REVIEW")
    assert "Name comparison" not in page(client, document, reviewer("rafael", "R. Duarte"))


@pytest.mark.django_db
def test_a_cv_is_listed_under_the_declared_person(site):
    make_read(site, "form-fda-1572", investigator="Anna Smith, MD",
              subinvestigators="John Smith, MD; Lauren Beck, RN")  # fmt: skip
    cv = make_read(site, "cv", doc_id="cv.anna-smith", person="Jonas Smith")
    Document.objects.filter(pk=cv.pk).update(url="", spooled="it")  # an upload
    blank = make_read(site, "cv", doc_id="cv-from-the-portal", state="IN_REVIEW")
    standing = {
        each.whose: each.document.key if each.document else None
        for each in get_readiness(site).required
        if each.document_type == "cv"
    }
    assert standing == {"Anna Smith, MD": cv.pk, "John Smith, MD": None, "Lauren Beck, RN": None}
    assert blank.pk not in standing.values()


@pytest.mark.django_db
@pytest.mark.parametrize("captions", ["Form FDA", "INVESTIGATOR", "Name and Address", "Dr. ", ""])
def test_a_blank_form_and_the_correct_name_do_not_contradict(client, site, captions):
    make_read(site, "form-fda-1572", investigator=captions, subinvestigators=captions)
    make_read(site, "protocol-signature-page", investigator="Margaret Whitfield, MD")
    make_read(site, "delegation-log", investigator="Margaret Whitfield", persons="M. Whitfield, MD")
    make_read(site, "cv", doc_id="cv.margaret-whitfield", person="Margaret Whitfield, MD")
    assert get_readiness(site).contradictions == []
    client.force_login(make_user("mara", sites=(site,)))
    content = client.get(f"/sites/{site.site_id}/").content.decode()
    assert "Form FDA " not in content.replace("Form FDA 1572", "")


@pytest.mark.django_db
def test_a_surname_alone_does_not_contradict_a_full_name(site):
    make_read(site, "form-fda-1572", investigator="Margaret Whitfield, MD")
    make_read(site, "irb-approval", investigator="Dr. Whitfield")
    assert get_readiness(site).contradictions == []
    make_read(site, "irb-approval", doc_id="irb-2", investigator="Dr. Brandt")
    (gap,) = get_readiness(site).contradictions
    assert gap.code == "PERSON_MISMATCH"
