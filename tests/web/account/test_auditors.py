"""Auditors have temporary read-only access, and each page that they open is recorded."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import list_entries
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.processes import worker_host
from sites.accounts import auditor_access_log
from sites.models import ApiToken, TokenScope, User
from sites.models.usage_counters import PageViews
from tests.factories import make_user
from tests.web.scenes import FILED, make_packet

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 20, 12, 3, tzinfo=UTC)
WHY = "Announced inspection of 2 to 6 December."


@pytest.fixture
def vera():
    today = timezone.now().date()
    days = {"access_from": today, "access_until": today + timedelta(days=5)}
    person = make_user("vera", is_staff=True, printed_name="Vera Novak", **days)
    person.groups.add(Group.objects.get(name="Auditors"))
    return person


@pytest.fixture
def auditor(client, vera):
    client.force_login(vera)
    return client


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED)


def readable(packet):
    document = packet.documents.get()
    return [
        "/admin/", "/admin/ingestion/document/", "/admin/audit/", "/admin/audit/verify/",
        "/admin/audit/export/", "/sites/0203/", f"/packets/{packet.reference}/",
        f"/documents/{document.pk}/",
        f"/admin/audit/document/{document.pk}/", "/access/", "/access/people.csv",
    ]  # fmt: skip


@pytest.mark.requirement("R34")
def test_auditors_can_read_records_and_the_audit_trail(auditor, packet):
    for address in readable(packet):
        assert auditor.get(address).status_code == 200, address


@pytest.mark.requirement("R34")
@pytest.mark.parametrize(
    "address",
    [
        "/packets/new/", "/account/policy/", "/account/training/", "/access/",
        "/admin/audit/verify/now/", "/admin/audit/reviews/new/", "/documents/1/copies/",
        "/admin/clinical_sites/user/add/", "/admin/clinical_sites/site/", "/admin/ingestion/batch/",
    ],
)  # fmt: skip
def test_changes_by_an_auditor_are_refused(auditor, address):
    answer = auditor.post(address)
    assert answer.status_code == 403
    assert "Auditors have read-only access" in answer.content.decode()


@pytest.mark.requirement("R34")
def test_other_roles_do_not_give_an_auditor_write_access(auditor, vera):
    User.objects.filter(pk=vera.pk).update(is_superuser=True)
    vera.groups.add(Group.objects.get(name="QA reviewers"))
    assert auditor.post("/admin/clinical_sites/site/add/").status_code == 403
    assert User.objects.get(pk=vera.pk).role == "auditor"


def test_auditors_can_sign_out_and_change_their_password(auditor, vera):
    new = "a heron in the reeds"
    changed = auditor.post("/password/", {"old": "correct horse", "new": new, "repeated": new})
    assert changed.status_code == 302
    assert auditor.post("/session/").status_code == 200
    assert auditor.post("/logout/").url == "/login/"


def test_auditors_can_request_an_export(auditor, packet):
    asked = auditor.post("/admin/audit/export/check/?site=0203")
    assert asked.status_code == 302
    assert asked.url.startswith("/admin/audit/export/")


@pytest.mark.requirement("R34")
def test_sign_in_after_the_last_day_of_access_is_refused_with_the_date(client, vera):
    yesterday = timezone.now().date() - timedelta(days=1)
    User.objects.filter(pk=vera.pk).update(access_until=yesterday)
    page = client.post("/login/", {"username": "vera", "password": "correct horse"})
    assert "Your access ended on" in page.content.decode()
    wrong = client.post("/login/", {"username": "vera", "password": "wrong"}).content.decode()
    assert "Your access" not in wrong, "only who knows the password learns of it"


@pytest.mark.requirement("R34")
def test_sign_in_before_the_first_day_of_access_is_refused(client, vera):
    tomorrow = timezone.now().date() + timedelta(days=1)
    User.objects.filter(pk=vera.pk).update(access_from=tomorrow)
    page = client.post("/login/", {"username": "vera", "password": "correct horse"})
    assert "Your access begins on" in page.content.decode()


@pytest.mark.requirement("R34")
def test_an_open_session_ends_after_the_last_day_of_access(auditor, vera):
    assert auditor.get("/admin/").status_code == 200
    yesterday = timezone.now().date() - timedelta(days=1)
    User.objects.filter(pk=vera.pk).update(access_until=yesterday)
    assert auditor.get("/sites/").url.startswith("/login/")


def test_access_lasts_until_the_end_of_the_last_day(vera):
    vera.access_from = vera.access_until = NOON.date()
    assert vera.has_access(NOON.replace(hour=0))
    assert vera.has_access(NOON.replace(hour=23, minute=59))
    assert not vera.has_access(NOON + timedelta(days=1))


@pytest.mark.requirement("R34")
def test_each_page_is_recorded_in_the_log_of_the_auditor(auditor, vera, packet):
    auditor.get("/admin/audit/?site=0203")
    for _ in range(3):
        auditor.get(f"/packets/{packet.reference}/", headers={"X-Fragment": "1"})
    auditor.post("/packets/new/")
    auditor.get("/documents/4711/")
    assert list_entries(vera.actor_name) == [], "the ten minutes are not over"
    auditor_access_log.record_views(timezone.now() + auditor_access_log.PERIOD)
    (entry,) = list_entries(vera.actor_name)
    assert (entry.event, entry.actor, entry.role) == (
        "user.pages_opened",
        vera.actor_name,
        "auditor",
    )
    assert entry.detail["opened"] == [
        {"request": "200 GET /admin/audit/?site=0203", "times": 1},
        {"request": f"200 GET /packets/{packet.reference}/", "times": 3},
        {"request": "403 POST /packets/new/", "times": 1},
        {"request": "404 GET /documents/4711/", "times": 1},
    ]
    assert (entry.detail["address"], entry.detail["printed_name"]) == ("127.0.0.1", "Vera Novak")
    assert not PageViews.objects.exists()


@pytest.mark.requirement("R34")
def test_worker_hosts_record_the_last_pages_that_an_auditor_opened(vera):
    auditor_access_log.count_view(vera, "200 GET /admin/", NOON)
    worker_host.run_tick(CompletionPolls())
    worker_host.run_tick(CompletionPolls())
    assert [entry.event for entry in list_entries(vera.actor_name)] == ["user.pages_opened"]


@pytest.mark.requirement("R05")
def test_reading_many_pages_creates_few_entries(vera):
    for number in range(500):
        auditor_access_log.count_view(vera, f"200 GET /documents/{number}/", NOON)
    assert auditor_access_log.record_views() == 3
    opened = [each for entry in list_entries(vera.actor_name) for each in entry.detail["opened"]]
    assert len(opened) == 500


def test_pages_of_other_people_are_not_counted(signed_in):
    signed_in.get("/")
    assert not PageViews.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("R34")
def test_a_page_that_cannot_be_counted_is_not_sent(auditor, vera, settings):
    auditor_access_log.count_view(vera, "200 GET /admin/", NOON)
    auditor_access_log.record_views()
    auditor_access_log.count_view(vera, "200 GET /admin/", NOON)
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    auditor.raise_request_exception = False
    assert auditor.get("/admin/audit/").status_code == 500


def test_programs_cannot_act_for_auditors(vera):
    token = ApiToken(name="script", user=vera, scopes=[TokenScope.READ])
    assert not token.is_usable
    with pytest.raises(Exception, match="Only members of staff"):
        token.clean()


@pytest.mark.requirement("R34")
def test_the_account_of_an_auditor_needs_a_last_day(site, vera):
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    form = {"printed_name": "Vera Novak", "email": "", "is_active": "on", "is_staff": "on",
            "groups": [vera.groups.get().pk], "identity_evidence": "", "reason_for_change": WHY,
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    address = f"/admin/clinical_sites/user/{vera.pk}/change/"
    refused = ada.post(address, form).content.decode()
    assert "Enter the last day of access" in refused
    not_staff = {name: value for name, value in form.items() if name != "is_staff"}
    assert "Select staff status" in ada.post(address, not_staff).content.decode()
    assert ada.post(address, form | {"access_until": "2026-12-06"}).status_code == 302
    assert str(User.objects.get(pk=vera.pk).access_until) == "2026-12-06"
