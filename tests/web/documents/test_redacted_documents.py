"""Tests of who sees what of a redacted document: pages, downloads, extracted values and the API."""

import hashlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from ingestion.models import Action, Document, DocumentRendition
from tests.api.conftest import Program, make_token
from tests.factories import make_staff
from tests.ingestion.review.redacting import redact, send_record
from tests.ingestion.review.reviewers import decide, lead
from tests.web.conftest import text
from web.documents.extracted_fields import list_extracted_values

SECRETS = ("Jane", "Roe", "1956", "00482113")


@pytest.fixture
def ines(db):
    return lead("ines", "Inês Duarte")


@pytest.fixture
def record(site, mara, tmp_path, settings):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"
    return send_record(site, mara, tmp_path)


@pytest.fixture
def filed(record, ines):
    """A redacted document that QA filed."""
    redact(record, ines)
    decide(Document.objects.get(), Action.UNSEAL, ines)
    return Document.objects.get()


def kind_of_file(client, document, query=""):
    answer = client.get(f"/documents/{document.pk}/file/{query}")
    if answer.status_code != 200 or not answer.streaming:
        return answer.status_code
    sha256 = hashlib.sha256(b"".join(answer.streaming_content)).hexdigest()
    if sha256 == document.sha256:
        return "original"
    return DocumentRendition.objects.get(sha256=sha256).kind


def ink_in(client, document, zoom=2):
    """Return the share of black pixels where the name stands, on the page that a person views."""
    answer = client.get(f"/documents/{document.pk}/pages/1/?zoom={zoom}")
    if answer.status_code != 200:
        return answer.status_code
    with Image.open(BytesIO(answer.content)) as picture:
        pixels = np.asarray(picture.convert("L"))
    scale = pixels.shape[1] / 612
    left, top, right, bottom = (round(side * scale) for side in (136, 82, 178, 90))
    return round(float((pixels[top:bottom, left:right] < 60).mean()), 2)


def test_only_qa_sees_a_suspected_document_before_the_decision(client, record, mara, ines):
    client.force_login(mara)
    assert kind_of_file(client, record) == 404
    assert ink_in(client, record) == 404
    page = text(client.get(f"/documents/{record.pk}/"))
    assert not any(secret in page for secret in SECRETS)
    client.force_login(ines)
    assert kind_of_file(client, record) == "original"
    assert ink_in(client, record) < 0.5


@pytest.mark.parametrize("role", ["coordinator", "Auditors", "QA leads"])
def test_each_role_is_shown_the_rendition_or_the_original(client, filed, mara, role):
    person = mara if role == "coordinator" else make_staff(role, "pat")
    client.force_login(person)
    page = text(client.get(f"/documents/{filed.pk}/"))
    original = DocumentRendition.objects.get().pk
    if role == "QA leads":
        assert kind_of_file(client, filed) == "original"
        assert kind_of_file(client, filed, f"?rendition={original}") == "redacted"
        assert ink_in(client, filed) < 0.5
        assert "Participants' data is redacted" in page
    else:
        assert kind_of_file(client, filed) == "redacted"
        assert kind_of_file(client, filed, f"?rendition={original}") == "redacted"
        assert ink_in(client, filed) == 1.0
        assert "You see a redacted rendition" in page
        assert "3 places are redacted, on these pages: 1." in page
        assert "Create certified copy" not in page
    assert not any(secret in page for secret in SECRETS)


def test_the_api_sends_the_redacted_rendition_and_says_so(filed, site):
    program = Program(*make_token(site=site))
    described = program.get(f"documents/{filed.pk}").json()
    rendition = DocumentRendition.objects.get()
    assert described["content_kind"] == "redacted"
    assert described["renditions"][0]["content_url"].endswith(rendition.sha256)
    answer = program.get(f"documents/{filed.pk}/content")
    content = b"".join(answer.streaming_content)
    assert hashlib.sha256(content).hexdigest() == rendition.sha256
    assert not any(secret in f"{described}" for secret in SECRETS)


def test_before_the_decision_the_api_sends_nothing(record, site):
    program = Program(*make_token(site=site))
    assert program.get(f"documents/{record.pk}/content").status_code == 404
    described = program.get(f"documents/{record.pk}").json()
    assert described["content_kind"] is None
    assert not any(secret in f"{described}" for secret in SECRETS)


def test_values_in_redacted_places_are_shown_to_qa_only(record, mara, ines):
    extraction = record.extractions.last()
    words = [each for each in extraction.fields if each["name"] == "person"]
    assert words == []
    extraction.fields = [
        {"name": "person", "value": "Jane Roe", "page": 1, "source": "native",
         "confidence": 100.0, "box": [136.0, 82.0, 178.0, 90.0]},
        {"name": "lab_name", "value": "St Anne's", "page": 1, "source": "native",
         "confidence": 100.0, "box": [60.0, 64.0, 150.0, 73.0]},
    ]  # fmt: skip
    extraction.save()
    assert list_extracted_values(record, mara) == []  # nothing of it, until QA decided
    redact(record, ines)
    decide(Document.objects.get(), Action.UNSEAL, ines)
    filed = Document.objects.get()
    assert [each.value for each in list_extracted_values(filed, mara)] == ["St Anne's"]
    assert [each.value for each in list_extracted_values(filed)] == ["St Anne's"]
    assert len(list_extracted_values(filed, ines)) == 2


def test_the_page_of_the_redaction_is_for_qa_and_shows_the_proposal(client, record, mara, ines):
    url = f"/admin/review/{record.pk}/redact/"
    client.force_login(mara)
    assert client.get(url).status_code in {403, 404}
    client.force_login(ines)
    page = text(client.get(url))
    assert "Places to redact on page 1" in page
    answer = client.post(url, {"places-1": "1 2 3", "reason": "x"})
    assert answer.status_code == 400
    assert "is no place on this page" in answer.content.decode()
    assert not DocumentRendition.objects.exists()


def test_the_findings_quote_no_detail_of_a_participant(record):
    assert record.code == "PHI_SUSPECTED"
    for finding in record.findings.all():
        assert not any(secret in f"{finding.facts}" for secret in SECRETS)
