"""A coordinator searches on a phone, with the keyboard, and sees the words marked on the page."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from ingestion.intake import registration
from ingestion.models import WorkerHost
from samples.documents import make_sample
from tests.browser.actions import SAMPLE, fits, make_sample_site, work

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
PHONE = {"width": 360, "height": 740}
SHOTS = os.environ.get("SHOTS")


@pytest.fixture
def site():
    return make_sample_site()


def shoot(page, name):
    assert fits(page), name
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def document(mara):
    """Return a filed document that a worker has read."""
    content = make_sample("irb-approval", today=datetime.now(UTC).date(), site=SAMPLE)
    sent = registration.UploadedDocument("a.pdf", "irb-approval", "", ContentFile(content, "a.pdf"))
    WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")
    site = mara.memberships.get().site
    packet = registration.register_upload(site=site, user=mara, files=[sent])
    work()
    return packet.documents.get()


def test_a_coordinator_finds_a_misspelt_word_and_its_place_on_a_phone(signed_in, mara, document):
    assert document.state == "ARCHIVED"
    page = signed_in(mara, viewport=PHONE)
    page.goto("/search/")
    page.get_by_label("Words or phrase").focus()
    page.keyboard.type("protokol")
    page.keyboard.press("Enter")
    expect(page.get_by_text("These pages have similar words")).to_be_visible()
    expect(page.locator("mark").first).to_have_text("protocol", ignore_case=True)
    shoot(page, "search_results_phone")
    page.get_by_role("link", name="page 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("are marked")).to_be_visible()
    expect(page.get_by_role("img", name="with the words marked")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page.locator("svg rect").count() > 0
    shoot(page, "search_page_phone")
    page.goto("/search/?q=%22%22")
    expect(page.get_by_role("alert")).to_contain_text("Enter at least one word")
    shoot(page, "search_problem_phone")
