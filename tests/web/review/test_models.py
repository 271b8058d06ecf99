"""The pages of models of document types: figures, signed activation, reports."""

import pytest
from django.utils import timezone

from ingestion.documents.active_model import find_active_model
from ingestion.learning import activation, rejudgement, training
from ingestion.models import ModelActivation
from ingestion.rules.document_types import RULES_VERSION
from tests.ingestion.learning.stored_models import make_model
from tests.ingestion.review.reviewers import lead
from tests.web.conftest import text

LIST = "/admin/review/models/"
SIGNED = {"username": "ines", "password": "correct horse"}
REASON = "It recognises more documents of the network."


@pytest.fixture
def leading(client, db):
    client.force_login(lead("ines", "Inês Duarte"))
    return client


def activate(client, name, **fields):
    given = {"reason": REASON, "seen_version": activation.get_version(), **SIGNED, **fields}
    return client.post(f"{LIST}{name}/activate/", given)


def test_a_model_is_shown_with_its_figures_and_the_documents_that_change(leading):
    model = make_model()
    assert "9 of 12 (before: 3)" in text(leading.get(LIST))
    page = text(leading.get(f"{LIST}{model.pk}/"))
    assert "Documents: 12. Sites: 2." in page
    assert page.index("Worse") < page.index("Better")
    assert "Correct type proposed first" in page
    assert model.sha256 in page
    assert "The rules have changed" not in page


def test_a_lead_activates_a_model_and_goes_back_to_the_built_in_model(leading):
    model = make_model()
    form = text(leading.get(f"{LIST}{model.pk}/activate/"))
    assert "The built-in model is active now." in form
    assert activate(leading, model.pk).url == LIST
    page = text(leading.get(LIST))
    assert "Inês Duarte" in page
    assert REASON in page
    assert find_active_model() == model
    assert "Go back to this model" in text(leading.get(f"{LIST}built-in/"))
    assert "Go back to the built-in model" in text(leading.get(f"{LIST}built-in/activate/"))
    assert activate(leading, "built-in").status_code == 302
    assert [row.is_rollback for row in ModelActivation.objects.all()] == [False, True]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"password": "wrong"}, "password is incorrect"),
        ({"reason": "short"}, "Reason"),
        ({"seen_version": 7}, "since you opened the page"),
    ],
)
def test_nothing_is_activated_if_the_form_is_refused(leading, fields, error):
    answer = activate(leading, make_model().pk, **fields)
    assert answer.status_code == 400
    assert error in answer.content.decode()
    assert not ModelActivation.objects.exists()


def test_a_model_of_earlier_rules_is_marked(leading):
    model = make_model(rules="2026.1.1")
    assert "The rules have changed" in text(leading.get(f"{LIST}{model.pk}/"))


@pytest.mark.parametrize(
    ("role", "sees"), [("QA reviewers", True), ("Auditors", True), ("Site coordinators", False)]
)
def test_others_see_models_at_most_and_never_activate_them(as_role, role, sees):
    model = make_model()
    client = as_role(role)
    assert client.get(f"{LIST}{model.pk}/").status_code == (200 if sees else 403)
    assert client.get(f"{LIST}{model.pk}/activate/").status_code == 403
    for address in (f"{LIST}train/", f"{LIST}{model.pk}/report/"):
        assert client.post(address).status_code == 403


def test_training_and_reports_are_requested_as_jobs(leading):
    model = make_model()
    assert leading.post(f"{LIST}train/").url == LIST
    assert leading.post(f"{LIST}built-in/report/").url == f"{LIST}built-in/"
    assert leading.post(f"{LIST}{model.pk}/report/").url == f"{LIST}{model.pk}/"
    assert "A report is being made" in text(leading.get(f"{LIST}{model.pk}/"))
    jobs = {job.kind: job for job in training.AuditJob.objects.all()}
    assert set(jobs) == {training.KIND, rejudgement.KIND}
    assert "A model is being trained." in text(leading.get(LIST))


def test_a_finished_report_names_the_documents_and_what_would_change(leading):
    difference = {
        "document": 1, "name": "cv", "site": "0203", "was_type": "cv", "was_state": "ARCHIVED",
        "was_rules": "2026.1.1", "type": "", "state": "IN_REVIEW",
        "codes": ["DOC_TYPE_UNRECOGNIZED", "SIGNATURE_MISSING"],
    }  # fmt: skip
    leading.post(f"{LIST}built-in/report/")
    job = training.AuditJob.objects.get()
    job.state, job.result = job.State.DONE, {
        "rules": RULES_VERSION, "documents": 9, "different": 1, "unreadable": 0,
        "differences": [difference],
    }  # fmt: skip
    job.finished_at = timezone.now()
    job.save()
    page = text(leading.get(f"{LIST}built-in/"))
    assert "Documents judged again: 9. Different: 1." in page
    assert "CV, Filed" in page
    assert "No type, In review: Document type not recognised; Not signed" in page


@pytest.mark.parametrize("name", ["77", "nonsense"])
def test_a_model_that_does_not_exist_is_not_found(leading, name):
    assert leading.get(f"{LIST}{name}/activate/").status_code == 404
