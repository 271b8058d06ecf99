"""Operations need a reason to download an original, which is recorded (R23, R07)."""

import pytest
from django.test import Client
from django.urls import reverse

from audit.ledger.queries import list_entries
from sites.models import TokenScope
from tests.api.conftest import Program, make_token
from tests.factories import make_staff, make_user
from tests.ingestion.review.reviewers import sender
from tests.web.scenes import FILED

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R23")]
WHY = "The site says that the file on record is damaged."
BYTES = b"%PDF-1.7 the approval"


@pytest.fixture
def document(site, mara, tmp_path):
    return sender(site, mara, tmp_path)(FILED, BYTES)


def downloads(document):
    entries = list_entries(document.subject)
    return [entry for entry in entries if entry.event == "document.downloaded"]


def body(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize("role", ["Operations", ""])
def test_operations_and_administrators_must_give_a_reason_for_a_download(client, document, role):
    person = make_staff(role) if role else make_user("ada", is_staff=True, is_superuser=True)
    client.force_login(person)
    address = reverse("original", args=[document.pk])
    page = client.get(address)
    assert BYTES not in body(page)
    assert b"Reason for the download" in page.content
    for reason in ("", "because"):
        refused = client.post(address, {"reason": reason})
        assert (refused.status_code, BYTES in body(refused)) == (400, False)
    assert downloads(document) == []
    assert body(client.post(address, {"reason": WHY})) == BYTES
    (entry,) = downloads(document)
    assert (entry.actor, entry.detail["reason"]) == (person.actor_name, WHY)


def test_people_who_work_with_documents_need_no_reason_for_a_download(client, document, mara):
    client.force_login(mara)
    address = reverse("original", args=[document.pk])
    assert body(client.get(address)) == BYTES
    assert client.post(address).status_code == 405
    client.force_login(make_staff("Regulatory affairs"))
    assert body(client.get(address)) == BYTES


def test_a_token_with_the_scope_operate_sends_its_reason_in_a_header(document):
    _, secret = make_token(TokenScope.DOWNLOAD, user=make_staff("Operations"))
    program, address = Program(Client(), secret), f"documents/{document.pk}/content"
    refused = program.get(address)
    assert (refused.status_code, downloads(document)) == (403, [])
    assert "X-Reason" in refused.json()["detail"]
    assert body(program.get(address, **{"X-Reason": WHY})) == BYTES
    assert downloads(document)[0].detail["reason"] == WHY
