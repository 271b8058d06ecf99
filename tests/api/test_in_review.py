"""Corrections of documents in review through the interface, as on the pages."""

import json

import pytest

from audit.ledger.queries import list_entries
from ingestion.models import Action, Document
from tests.factories import make_user
from tests.ingestion.review.reviewers import decide, lead, sender
from tests.web.scenes import IN_REVIEW, pdf

REASON = "It was sent as a letter by mistake."
AS_CV = {"document_type": "cv", "person": "Ana Ruiz", "reason": REASON}


@pytest.fixture
def document(site, tmp_path):
    return sender(site, make_user(sites=(site,)), tmp_path)(IN_REVIEW)


def reload(document):
    return Document.objects.get(pk=document.pk)


def correct(program, document, **fields):
    return program.request(
        "PATCH",
        f"documents/{document.pk}",
        data=json.dumps(AS_CV | fields),
        content_type="application/json",
    )


def replace(program, document, **fields):
    line = {"file": "letter.pdf", "document_type": "irb-approval", "corrects": document.pk}
    return program.submit_files({"documents": [line | fields]}, files=pdf("letter.pdf"))


def test_a_corrected_type_and_person_cause_a_new_check(program, document):
    answer = correct(program, document)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["state"], body["document_type"], body["doc_id"]) == (
        "RECEIVED", "cv", "cv.ana-ruiz",
    )  # fmt: skip
    entry = list_entries(document.subject)[-1]
    assert (entry.event, entry.actor) == ("document.redeclared", program.token.actor_name)
    assert entry.detail["reason"] == REASON


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"document_type": "nonsense"}, "document_type"),
        ({"person": ""}, "person"),
        ({"reason": "x"}, "reason"),
        ({"more": 1}, "more"),
        ({"document_type": "irb-approval"}, "document_type"),
    ],
)
def test_faults_of_a_correction_are_named_by_field(program, document, fields, field):
    answer = correct(program, document, **fields)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert reload(document).state == "IN_REVIEW"


def test_a_replacement_file_ends_the_review(program, document):
    answer = replace(program, document)
    assert answer.status_code == 202, answer.content
    new = Document.objects.latest("pk")
    assert (reload(document).state, new.corrects) == ("WITHDRAWN", document)
    assert list_entries(document.subject)[-1].event == "document.replaced"


def test_a_decided_document_can_be_neither_corrected_nor_replaced(program, document):
    decide(document, Action.RELEASE, lead("ines", "Inês Duarte"))
    for answer in (correct(program, document), replace(program, document)):
        assert answer.status_code == 409
        assert "because it is filed" in answer.json()["detail"]
    assert Document.objects.count() == 1


def test_another_sites_document_can_be_neither_corrected_nor_replaced(other_program, document):
    assert correct(other_program, document).status_code == 404
    answer = replace(other_program, document)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "corrects"
    assert reload(document).state == "IN_REVIEW"


def test_a_replacement_submitted_twice_is_registered_once(program, document):
    line = {"file": "letter.pdf", "document_type": "irb-approval", "corrects": document.pk}
    first, second = (
        program.submit_files({"documents": [line]}, key="k-1", files=pdf("letter.pdf"))
        for _ in range(2)
    )
    assert first.json()["id"] == second.json()["id"]
    assert Document.objects.count() == 2
