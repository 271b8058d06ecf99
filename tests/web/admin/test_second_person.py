"""Tokens of sites and addresses of portals need the approval of a second person (R23)."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.core import mail
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import list_entries
from audit.verification import verify
from audit.verification.start import Mode
from ingestion.core.errors import Misconfigured
from ingestion.core.limits import Limits
from ingestion.dispatch.work_items import get_portal_terms
from ingestion.sources.http.connections import PortalConnection
from sites import account_notices, approvals
from sites.models import ApiToken, Portal
from sites.models.approval_requests import ApprovalRequest
from tests.api.conftest import Program
from tests.factories import make_staff, make_user, put_on_record

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R23")]
WHY = "The sponsor has moved its document system."
EVIL = "https://collector.example.net/"


@pytest.fixture
def olu():
    return make_staff("Operations", "olu", printed_name="Olu Adeyemi", email="olu@example.org")


@pytest.fixture
def ola():
    return make_staff("Operations", "ola", printed_name="Ola Berg", email="ola@example.org")


@pytest.fixture
def ada():
    return make_user("ada", is_staff=True, is_superuser=True, printed_name="Ada Hartmann")


def as_(person):
    client = Client()
    client.force_login(person, "sites.backends.People")
    return client


def decide(person, request, act="approve"):
    given = {"act": act, "note": "I have read the sponsor's letter.", "password": "correct horse"}
    return as_(person).post(f"/approvals/{request.pk}/", given)


def portal_form(portal, **changes):
    names = ["key", "base_url", "allowed_hosts", "secret_header", "rate_per_second", "burst",
             "max_in_flight", "timeout_seconds", "mirror_order"]  # fmt: skip
    fields = {name: getattr(portal, name) for name in names}
    for name in ("allow_http", "allow_private_hosts"):
        if getattr(portal, name):
            fields[name] = "on"
    return fields | {"reason_for_change": WHY} | changes


def change(person, portal, **changes):
    address = f"/admin/clinical_sites/portal/{portal.pk}/change/"
    answer = as_(person).post(address, portal_form(portal, **changes))
    assert answer.status_code == 302, answer.context["errors"]


def make_token(person, site, **given):
    form = {"name": "eISF", "scopes": ["read", "submit"], "days": "30", "site": site.pk} | given
    answer = as_(person).post("/admin/clinical_sites/apitoken/add/", form)
    assert answer.status_code == 200, "the secret is shown in this answer alone"
    return ApiToken.objects.get(name="eISF"), answer.context["secret"]


def opens(secret):
    return Program(Client(), secret).get("sites").status_code == 200


def test_a_token_of_a_site_works_only_after_an_administrator_approved_it(olu, ola, ada, site):
    token, secret = make_token(olu, site)
    assert not opens(secret)
    request = ApprovalRequest.objects.get()
    decide(olu, request)
    assert not opens(secret), "she asked for it"
    assert decide(ola, request).status_code == 404, "operations decide nothing about tokens"
    assert not opens(secret)
    page = as_(ada).get(f"/approvals/{request.pk}/").content.decode()
    assert "site 0203" in page
    assert "submit" in page
    decide(ada, request)
    assert opens(secret)
    created, approved = list_entries(f"apitoken:{token.pk}")
    assert (created.actor, approved.actor) == (olu.actor_name, ada.actor_name)
    assert approved.detail["asked_by"] == "Olu Adeyemi"
    events = [entry.event for entry in list_entries(request.subject)]
    assert events == ["approval.requested", "approval.approved"]


def test_an_administrator_cannot_approve_their_own_token_of_a_site(ada, site):
    _, secret = make_token(ada, site)
    decide(ada, ApprovalRequest.objects.get())
    assert not opens(secret)


def test_a_refused_or_revoked_token_stays_unusable(olu, ada, site):
    token, secret = make_token(olu, site)
    request = ApprovalRequest.objects.get()
    form = {"action": "revoke", "_selected_action": [token.pk], "index": 0}
    as_(olu).post("/admin/clinical_sites/apitoken/", form | {"reason_for_change": WHY})
    decide(ada, request)
    request.refresh_from_db()
    assert request.state == "open", "what cannot be carried out is not approved either"
    decide(ada, request, act="refuse")
    request.refresh_from_db()
    assert (request.state, opens(secret)) == ("refused", False)


def test_a_personal_token_needs_no_approval(olu):
    form = {"name": "eISF", "scopes": ["read", "operate"], "days": "30", "user": olu.pk}
    answer = as_(olu).post("/admin/clinical_sites/apitoken/add/", form)
    assert opens(answer.context["secret"])
    assert not ApprovalRequest.objects.exists()


@pytest.mark.parametrize(
    "wanted",
    [{"base_url": EVIL}, {"allow_http": ""}, {"allow_private_hosts": ""}],
    ids=lambda wanted: next(iter(wanted)),
)
def test_the_address_of_a_portal_changes_after_a_second_person_approved_it(olu, ola, site, wanted):
    portal = site.portal
    before = Portal.objects.filter(pk=portal.pk).values().get()
    change(olu, portal, **wanted, burst=7)
    after = Portal.objects.filter(pk=portal.pk).values().get()
    assert after["burst"] == 7, "what needs nobody else is saved"
    ours = {name: before[name] for name in before if name not in {"burst", "revision"}}
    assert {name: after[name] for name in ours} == ours
    request = ApprovalRequest.objects.get()
    assert (request.asked_by, request.reason, request.site) == (olu, WHY, "0203")
    decide(olu, request)
    portal.refresh_from_db()
    assert portal.base_url == before["base_url"], "not by who asked"
    decide(ola, request)
    portal.refresh_from_db()
    name, value = next(iter(wanted.items()))
    assert getattr(portal, name) == (value or False)
    entry = list_entries(f"portal:{portal.pk}")[-1]
    assert (entry.event, entry.actor, entry.site) == ("portal.changed", ola.actor_name, "0203")
    assert name in entry.detail["changes"]
    assert entry.detail["approval"] == request.subject


def test_a_secret_is_sent_to_the_approved_origin_only(olu, ola, site, settings):
    settings.PORTAL_SECRETS = {"PORTAL_SECRET_SITE_0203": "Bearer hush"}
    portal = site.portal
    connection = PortalConnection.open(get_portal_terms(portal), Limits())
    assert connection.portal_transport.headers["Authorization"] == "Bearer hush"
    Portal.objects.filter(pk=portal.pk).update(base_url=EVIL)  # behind every form
    portal.refresh_from_db()
    with pytest.raises(Misconfigured, match="has to approve it"):
        PortalConnection.open(get_portal_terms(portal), Limits())
    Portal.objects.filter(pk=portal.pk).update(base_url="https://ctms.example.org/a/")
    portal.refresh_from_db()
    change(olu, portal, burst=3)
    decide(ola, ApprovalRequest.objects.get())
    portal.refresh_from_db()
    assert portal.approved_origin == "https://ctms.example.org:443"
    assert PortalConnection.open(get_portal_terms(portal), Limits()).credentials.request_headers


def test_the_key_of_a_portal_cannot_be_changed_because_it_names_the_secret(olu, site):
    change(olu, site.portal, key="another-portals")
    assert Portal.objects.get().key == "site-0203"


def test_a_new_portal_is_not_contacted_before_a_second_person_approved_it(olu, ola):
    form = portal_form(Portal(key="new", base_url=EVIL)) | {"allow_private_hosts": "on"}
    as_(olu).post("/admin/clinical_sites/portal/add/", form)
    portal = Portal.objects.get(key="new")
    assert (portal.approved_origin, portal.allow_private_hosts) == ("", False)
    with pytest.raises(Misconfigured):
        PortalConnection.open(get_portal_terms(portal), Limits())
    decide(ola, ApprovalRequest.objects.get())
    portal.refresh_from_db()
    assert portal.approved_origin == "https://collector.example.net:443"
    assert portal.allow_private_hosts
    assert PortalConnection.open(get_portal_terms(portal), Limits())


def test_a_request_is_not_approved_if_the_portal_changed_in_the_meantime(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    request = ApprovalRequest.objects.get()
    Portal.objects.update(base_url="https://other.example.org/")
    decide(ola, request)
    request.refresh_from_db()
    assert request.state == "open"
    assert Portal.objects.get().base_url == "https://other.example.org/"


def test_a_newer_request_replaces_an_older_one(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    change(ola, site.portal, base_url="https://ctms.example.org/")
    newer, older = ApprovalRequest.objects.all()
    assert (older.state, newer.state) == ("withdrawn", "open")
    decide(ola, older)
    decide(ola, newer)
    site.portal.refresh_from_db()
    assert site.portal.base_url.startswith("http://127.0.0.1"), "her own, and a closed one"


def test_requests_expire_and_the_ledger_records_it(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    request = ApprovalRequest.objects.get()
    decide(ola, request)
    assert site.portal.base_url != EVIL
    assert approvals.expire_due() == 1
    assert approvals.expire_due() == 0
    assert list_entries(request.subject)[-1].event == "approval.expired"
    change(olu, site.portal, base_url=EVIL)
    assert ApprovalRequest.objects.open().count() == 1, "it can be asked for again"


def test_people_can_withdraw_their_own_requests(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    request = ApprovalRequest.objects.get()
    as_(ola).post(f"/approvals/{request.pk}/", {"act": "withdraw"})
    assert ApprovalRequest.objects.open().exists()
    as_(olu).post(f"/approvals/{request.pk}/", {"act": "withdraw"})
    request.refresh_from_db()
    assert request.state == "withdrawn"


def test_a_person_whose_account_was_changed_by_another_one_cannot_approve(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    ola.signing_suspended_at = timezone.now()
    ola.save()
    decide(ola, ApprovalRequest.objects.get())
    site.portal.refresh_from_db()
    assert site.portal.base_url != EVIL


def test_the_database_rejects_decisions_by_the_person_who_made_the_request(olu, site):
    change(olu, site.portal, base_url=EVIL)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApprovalRequest.objects.update(state="approved", decided_by=olu)


def test_deciders_and_requesters_are_notified_by_email(olu, ola, ada, site, settings):
    settings.SITE_URL = "https://ledger.example.org"
    change(olu, site.portal, base_url=EVIL)
    account_notices.send_due_notices()
    assert [message.to for message in mail.outbox] == [["ola@example.org"]], "ada has no address"
    assert "https://ledger.example.org/approvals/" in mail.outbox[0].body
    decide(ola, ApprovalRequest.objects.get())
    account_notices.send_due_notices()
    assert mail.outbox[-1].to == ["olu@example.org"]
    assert "Approved" in mail.outbox[-1].subject


def test_the_header_counts_the_requests_that_wait_for_a_person(olu, ola, site):
    change(olu, site.portal, base_url=EVIL)
    assert approvals.count_waiting_for(olu) == 0
    assert approvals.count_waiting_for(ola) == 1
    assert "1 request waiting" in as_(ola).get("/approvals/").content.decode()


def test_the_import_of_sites_needs_no_second_person(site, tmp_path):
    file = tmp_path / "sites.json"
    file.write_text(
        '[{"study": "SLX-301", "site_id": "0203", "name": "St. Brigid\'s", "country": "Ireland",'
        ' "portal": {"base_url": "https://ctms.example.org/"}}]'
    )
    call_command("load_sites", str(file), verbosity=0)
    portal = Portal.objects.get(key="site-0203")
    assert portal.base_url == "https://ctms.example.org/"
    assert portal.approved_origin == "https://ctms.example.org:443"
    assert PortalConnection.open(get_portal_terms(portal), Limits())
    changes = list_entries(f"portal:{portal.pk}")[-1].detail
    assert changes["approved_origin"]["new"] == "https://ctms.example.org:443"


def test_tokens_and_portals_of_an_earlier_release_keep_working(olu, site):
    token = ApiToken(name="its system", site=site, scopes=["read"])
    secret = token.generate_secret()
    token.save()
    Portal.objects.update(approved_origin="", base_url="https://ctms.example.org/a/")
    assert not opens(secret)
    upgrade = import_module("sites.migrations.0011_pre_second_person_approval")
    upgrade.approve_what_is_in_use(apps, connection.schema_editor())
    assert opens(secret)
    assert Portal.objects.get().approved_origin == "https://ctms.example.org:443"


@pytest.mark.usefixtures("every_row")
def test_an_approval_that_sql_made_is_found_by_the_comparison_with_the_ledger(olu, ada, site):
    put_on_record()
    make_token(olu, site)
    decide(ada, ApprovalRequest.objects.get())
    assert verify.verify_ledger(Mode.FULL).problems == ()
    make_token(olu, site, name="another")
    ApiToken.objects.filter(name="another").update(approved_at=timezone.now())
    (problem,) = verify.verify_ledger(Mode.FULL).problems
    assert "approved_at" in str(problem)
    ApiToken.objects.filter(name="another").update(approved_at=None)
