"""Changes, deletions and actions in the admin need a reason."""

import pytest
from django.contrib import admin

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.change_tracking.change_reasons import ReasonedActions
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from ingestion.core.states import BatchState
from ingestion.models import Batch, RequiredDocument
from sites.models import Site, Study, User
from tests.factories import make_batch, make_user
from tests.web.admin.test_people_and_sites import WHY, person_form, site_form

STUDIES = "/admin/clinical_sites/study/"
UNSAID = ("", " ", "typo", "         x", "\n\n \t \n\n \t")
without_reason = pytest.mark.parametrize("why", UNSAID, ids=[repr(why) for why in UNSAID])


@pytest.fixture
def administrator(as_role):
    return as_role("")


def text(answer):
    return answer.content.decode()


@pytest.mark.sampled(3)
@pytest.mark.requirement("R03")
@without_reason
def test_a_change_without_a_reason_is_refused_with_a_message(administrator, site, why):
    address = f"/admin/clinical_sites/site/{site.pk}/change/"
    form = site_form(site, name="Elsewhere", reason_for_change=why)
    answer = administrator.post(address, form)
    assert answer.status_code == 200
    assert "Enter a reason" in text(answer)
    assert "Elsewhere" in text(answer), "what was typed is not lost"
    assert Site.objects.get().name == site.name
    assert list_entries(f"site:{site.pk}") == []


@pytest.mark.requirement("R02")
@pytest.mark.requirement("R03")
def test_the_ledger_records_the_reason_and_the_origin_of_a_change(administrator, site):
    address = f"/admin/clinical_sites/site/{site.pk}/change/"
    form = site_form(site, name="Elsewhere", reason_for_change=f"  {WHY} ")
    administrator.post(address, form, headers={"X-Request-ID": "trace-7"})
    (entry,) = list_entries(f"site:{site.pk}")
    person = User.objects.get(is_superuser=True)
    names = ("reason", "request_id", "address", "printed_name")
    assert [entry.detail[name] for name in names] == [WHY, "trace-7", "127.0.0.1", str(person)]
    assert (entry.actor, entry.role, entry.site) == (person.actor_name, "administrator", "0203")
    assert entry.software
    assert entry.rules


def test_the_change_form_has_one_additional_field_for_the_reason(administrator, site):
    change = text(administrator.get(f"/admin/clinical_sites/site/{site.pk}/change/"))
    assert 'name="reason_for_change"' in change
    assert "reason_for_change" not in text(administrator.get("/admin/clinical_sites/site/add/"))


def test_people_who_can_only_view_a_record_see_no_field_for_a_reason(as_role, site):
    page = as_role("QA reviewers").get(f"/admin/clinical_sites/site/{site.pk}/change/")
    assert page.status_code == 200
    assert "reason_for_change" not in text(page)


@pytest.mark.sampled(3)
@pytest.mark.requirement("R03")
@without_reason
def test_nothing_is_deleted_without_a_reason(administrator, db, why):
    study = Study.objects.create(protocol_number="OLD-1")
    address = f"{STUDIES}{study.pk}/delete/"
    assert 'name="reason_for_change"' in text(administrator.get(address))
    answer = administrator.post(address, {"post": "yes", "reason_for_change": why})
    assert "Enter a reason" in text(answer)
    assert Study.objects.exists()
    administrator.post(address, {"post": "yes", "reason_for_change": WHY})
    assert not Study.objects.exists()
    assert latest(limit=1)[0].detail["reason"] == WHY


@pytest.mark.sampled(3)
@pytest.mark.requirement("R03")
@without_reason
def test_selected_records_are_not_deleted_without_a_reason(administrator, db, why):
    keys = [Study.objects.create(protocol_number=number).pk for number in ("OLD-1", "OLD-2")]
    form = {"action": "delete_selected", "_selected_action": keys}
    asked = administrator.post(STUDIES, form | {"reason_for_change": "It is over"})
    assert "It is over</textarea>" in text(asked), "what was typed in the list is kept"
    answer = administrator.post(STUDIES, form | {"post": "yes", "reason_for_change": why})
    assert "Enter a reason" in text(answer)
    assert Study.objects.count() == 2
    administrator.post(STUDIES, form | {"post": "yes", "reason_for_change": WHY})
    assert not Study.objects.exists()
    assert [entry.detail["reason"] for entry in latest(limit=2)] == [WHY, WHY]


@pytest.mark.sampled(3)
@pytest.mark.requirement("R03")
@without_reason
def test_no_action_runs_without_a_reason(as_role, why):
    batch, client = make_batch(), as_role("Operations")
    assert 'name="reason_for_change"' in text(client.get("/admin/ingestion/batch/"))
    form = {"action": "cancel", "_selected_action": [batch.pk]}
    answer = client.post("/admin/ingestion/batch/", form | {"reason_for_change": why}, follow=True)
    assert "Nothing was changed. Enter a reason" in text(answer)
    assert Batch.objects.get().state != BatchState.CANCELLED
    client.post("/admin/ingestion/batch/", form | {"reason_for_change": WHY})
    assert Batch.objects.get().state == BatchState.CANCELLED
    asked = [each for each in list_entries(batch.subject) if each.actor.startswith("user:")]
    assert asked
    assert {each.detail["reason"] for each in asked} == {WHY}


@pytest.mark.requirement("R03")
def test_an_action_cannot_run_together_with_a_deletion(as_role):
    batch = make_batch()
    form = {"action": ["cancel", "delete_selected"], "_selected_action": [batch.pk], "index": 0}
    as_role("").post("/admin/ingestion/batch/", form)
    assert Batch.objects.get().state != BatchState.CANCELLED


@pytest.mark.requirement("R03")
@pytest.mark.requirement("R09")
@pytest.mark.parametrize("column", ["is_active", "is_staff", "is_superuser"])
def test_changes_of_roles_and_permissions_need_a_reason_and_are_recorded(administrator, column):
    person = make_user("new")
    address = f"/admin/clinical_sites/user/{person.pk}/change/"
    change = {column: "" if column == "is_active" else "on"}
    administrator.post(address, person_form(person, reason_for_change="", **change))
    assert [entry.event for entry in list_entries(person.actor_name)] == []
    administrator.post(address, person_form(person, **change))
    (entry,) = list_entries(person.actor_name)
    suspended = ["signing_suspended_at"] if column == "is_superuser" else []
    assert list(entry.detail["changes"]) == [column, *suspended]
    assert entry.detail["reason"] == WHY


@pytest.mark.requirement("R03")
def test_the_reason_for_revoking_a_waiver_has_its_own_field(as_role, site):
    client, address = as_role("Regulatory affairs"), "/admin/ingestion/waiver/"
    form = {"site": site.pk, "document_type": "cv", "whose": "", "reason": "Nobody works there."}
    client.post(f"{address}add/", form)
    waiver = latest(limit=1)[0].subject.partition(":")[2]
    page = client.post(f"{address}{waiver}/change/", {"revoked_because": "short"})
    assert "Enter a reason" in text(page) or "at least 10 characters" in text(page)
    client.post(f"{address}{waiver}/change/", {"revoked_because": "A coordinator works there now."})
    assert latest(limit=1)[0].detail["reason"] == "A coordinator works there now."


@pytest.mark.requirement("R08")
def test_form_errors_are_recorded_without_the_entered_text(as_role, site):
    client = as_role("Regulatory affairs")
    form = {"study": site.study_id, "document_type": "cv", "each": "moon", "required_from": ""}
    client.post("/admin/ingestion/requireddocument/add/", form)
    assert not RequiredDocument.objects.exists()
    (entry,) = latest(limit=1)
    assert (entry.event, entry.reason_code) == (
        "requireddocument.form_came_back",
        "each:invalid_choice",
    )
    assert {"field": "each", "value": "moon"} in entry.detail["typed"]


@pytest.mark.requirement("R03")
@pytest.mark.requirement("R04")
def test_every_page_of_the_admin_records_its_changes_or_makes_none(rf, db):
    request = rf.get("/")
    request.user = make_user(is_staff=True, is_superuser=True)
    for model, page in admin.site._registry.items():
        may = [page.has_add_permission(request), page.has_change_permission(request)]
        changes = any([*may, page.has_delete_permission(request)])
        assert not changes or isinstance(page, LedgerAdminMixin), model
        assert not page.get_actions(request) or isinstance(page, ReasonedActions), model
        assert not page.list_editable, f"{model}: a list has no room for reasons"
