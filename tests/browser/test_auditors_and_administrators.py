"""The work of an auditor and of an administrator in a browser."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from audit.ledger import queries
from ingestion import roles
from sites.accounts import auditor_access_log
from sites.models import User
from tests.factories import make_site, make_staff, make_user
from tests.web.scenes import FILED, make_packet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
WHY = "She works at the site since Monday."


@pytest.fixture
def site():
    roles.install()  # a transactional test begins with empty tables
    return make_site("0203")


@pytest.fixture
def vera():
    today = timezone.now().date()
    days = {"access_from": today - timedelta(days=1), "access_until": today + timedelta(days=5)}
    return make_staff("Auditors", "vera", printed_name="Vera Novak", **days)


@pytest.mark.requirement("R34")
def test_an_auditor_reads_the_trail_of_a_document_and_this_is_recorded(sign_in, site, mara, vera):
    document = make_packet(site, mara, FILED).documents.get()
    page = sign_in(vera)
    page.get_by_role("link", name="Documents", exact=True).click()
    page.get_by_role("link", name="irb-approval").first.click()
    page.get_by_role("link", name="Document page").click()
    page.get_by_role("link", name="Audit trail of this document").click()
    expect(page.get_by_text("Checking → Filed")).to_be_visible()
    expect(page.get_by_role("button", name="Verify now")).to_have_count(0)
    auditor_access_log.record_views(timezone.now() + auditor_access_log.PERIOD)
    entry = queries.list_entries(vera.actor_name)[-1]
    assert (entry.event, entry.actor) == ("user.pages_opened", vera.actor_name)
    opened = [each["request"] for each in entry.detail["opened"]]
    assert f"200 GET /admin/audit/document/{document.pk}/" in opened


@pytest.mark.slow
@pytest.mark.requirement("R03")
def test_an_administrator_assigns_a_site_with_a_reason(sign_in, site):
    ada = make_user("ada", is_staff=True, is_superuser=True, printed_name="Ada Hartmann")
    nora = make_user("nora", printed_name="Nora Falk")
    page = sign_in(ada)
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="nora").click()
    page.get_by_label("Email").fill("nora@example.org")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Enter a reason for this change.")).to_be_visible()
    page.get_by_label("Reason for this change").fill(WHY)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert User.objects.get(pk=nora.pk).email == "nora@example.org"
    entry = queries.list_entries(nora.actor_name)[-1]
    assert (entry.event, entry.actor) == ("user.changed", ada.actor_name)
    assert entry.detail["reason"] == WHY
