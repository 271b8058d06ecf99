"""The work of a coordinator in a browser, from sign-in to the filed document."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from audit.ledger import queries
from ingestion.models import Document, Packet
from samples.documents import make_sample
from sites.models import Site
from tests.browser.actions import SAMPLE, choose, make_sample_site, work
from tests.factories import make_user

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def site():
    return make_sample_site()


@pytest.fixture
def files(tmp_path):
    """Return two correct documents with usual file names."""
    names = {"IRB_approval_2026.pdf": "irb-approval", "Delegation_log.pdf": "delegation-log"}
    for name, kind in names.items():
        content = make_sample(kind, today=datetime.now(UTC).date(), site=SAMPLE)
        (tmp_path / name).write_bytes(content)
    return [tmp_path / name for name in names]


def send(page, files):
    page.goto("/packets/new/")
    choose(page, files)
    page.get_by_role("button", name="Send packet (2)").click()
    page.wait_for_url("**/packets/PKT-*/")


def test_a_packet_is_sent_and_filed(sign_in, mara, files):
    page = sign_in(mara)
    page.get_by_role("link", name="Upload a packet").first.click()
    choose(page, files)
    types = page.locator(".sl-row select")
    expect(types).to_have_count(2)
    assert [types.nth(row).input_value() for row in (0, 1)] == ["irb-approval", "delegation-log"]
    page.get_by_role("button", name="Send packet (2)").click()
    expect(page.locator("h2").first).to_have_text("Checking has stopped: no worker is running")
    expect(page.get_by_role("status").filter(has_text="0 of 2 checked")).to_be_visible()
    work()
    expect(page.locator("h2").first).to_have_text("All documents are on file")
    expect(page.locator(".sl-chip", has_text="Filed")).to_have_count(2)
    packet = Packet.objects.get()
    assert page.url.endswith(f"/packets/{packet.reference}/")
    for document in packet.documents.all():
        assert is_on_record(document, mara)


def is_on_record(document, person):
    """Return whether the ledger records that this person sent it and that it was filed."""
    first, *_, last = queries.list_entries(document.subject)
    return (first.actor, last.event) == (person.actor_name, "document.filed")


def test_an_error_is_shown_at_its_input_and_nothing_is_lost(signed_in, mara, files):
    page = signed_in(mara)
    page.goto("/packets/new/")
    cv = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-"}
    choose(page, [cv], files[0])
    page.get_by_role("button", name="Send packet (2)").click()
    expect(page.locator("#problems")).to_be_focused()
    page.get_by_role("link", name="Enter the name of the person whose CV").click()
    expect(page.get_by_label("Name of the person in cv.pdf")).to_be_focused()
    page.keyboard.type("Helena Brandt")
    expect(page.locator(".sl-row")).to_have_count(2)
    page.get_by_role("button", name="Send packet (2)").click()
    page.wait_for_url("**/packets/PKT-*/")
    assert set(Document.objects.values_list("doc_id", flat=True)) == {
        "cv.helena-brandt",
        "irb-approval",
    }


@pytest.mark.slow
def test_the_focus_stays_while_the_page_updates_itself(signed_in, mara, files):
    page = signed_in(mara)
    send(page, files)
    link = page.get_by_role("link", name="Delegation_log.pdf")
    link.focus()
    work()
    expect(page.locator(".sl-chip", has_text="Filed")).to_have_count(2)
    expect(link).to_be_focused()


def test_a_lost_connection_is_shown_and_restored(signed_in, mara, files):
    page = signed_in(mara)
    send(page, files)
    page.context.set_offline(True)
    expect(page.locator("#poll-note")).to_contain_text("The connection was lost")
    page.context.set_offline(False)
    expect(page.locator("#poll-note")).to_be_empty()


@pytest.mark.slow
def test_a_packet_is_sent_without_javascript(sign_in, mara, files):
    page = sign_in(mara, java_script_enabled=False)
    page.get_by_role("link", name="Upload a packet").first.click()
    page.locator("#file-0").set_input_files(files[0])
    page.get_by_role("button", name="Send packet").click()
    page.wait_for_url("**/packets/PKT-*/")
    assert page.locator("h3").inner_text() == "IRB approval"
    work()
    page.reload()
    expect(page.locator("h2").first).to_have_text("All documents are on file")
    assert is_on_record(Document.objects.get(), mara)


@pytest.mark.slow
def test_staff_find_the_document_in_the_admin(signed_in, mara):
    page = signed_in(make_user("ada", is_staff=True, is_superuser=True))
    for path in ("", "ingestion/document/", "clinical_sites/user/add/", "audit/entry/"):
        assert page.goto(f"/admin/{path}").ok
    page.goto("/admin/clinical_sites/site/")
    page.get_by_role("link", name=SAMPLE.site_id).click()
    expect(page.locator("h1")).to_contain_text(Site.objects.get().name)
    expect(page.get_by_role("link", name="Sites").first).to_have_attribute("aria-current", "page")
