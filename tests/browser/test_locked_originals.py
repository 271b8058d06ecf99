"""Documents with active content: what the site and QA see, and what they download."""

from datetime import UTC, datetime

import pikepdf
import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from ingestion.intake import registration
from ingestion.models import WorkerHost
from samples.documents import make_sample
from sites.roles import QA_REVIEWERS
from tests.browser.actions import SAMPLE, make_renditions, make_sample_site, work
from tests.browser.test_documents_in_review import PHONE, shoot
from tests.factories import make_staff
from tests.ingestion.reading.documents import add_script

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def site():
    return make_sample_site()


@pytest.fixture
def document(mara):
    """Return a delegation log with a script, which a worker read."""
    content = add_script(make_sample("delegation-log", today=datetime.now(UTC).date(), site=SAMPLE))
    name = "Delegation_log.pdf"
    sent = registration.UploadedDocument(name, "delegation-log", "", ContentFile(content, name))
    WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")
    site = mara.memberships.get().site
    packet = registration.register_upload(site=site, user=mara, files=[sent])
    work()
    document = packet.documents.get()
    assert (document.state, document.code) == ("IN_REVIEW", "ACTIVE_CONTENT")
    return document


def download(page, label):
    with page.expect_download() as started:
        page.get_by_role("link", name=label, exact=True).click()
    return started.value


def test_the_site_gets_pictures_on_a_phone_and_qa_gets_the_original(signed_in, mara, document):
    page = signed_in(mara, viewport=PHONE)
    page.goto(f"/documents/{document.pk}/")
    expect(page.get_by_text("The rendition is being made.")).to_be_visible()
    expect(page.get_by_role("link", name="Download the inert rendition")).to_have_count(0)
    shoot(page, "locked_waiting_phone")
    make_renditions()
    page.reload()
    expect(page.get_by_role("heading", name="You see an inert rendition")).to_be_visible()
    expect(page.get_by_text("a script, which runs when the file is opened or used")).to_be_visible()
    expect(page.get_by_text("Download the original")).to_have_count(0)
    shoot(page, "locked_site_phone")
    file = download(page, "Download the inert rendition")
    assert file.suggested_filename == "Delegation_log, rendition.pdf"
    with pikepdf.open(file.path()) as pictures:
        assert "/OpenAction" not in pictures.Root
        assert "/Picture" in pictures.pages[0].Resources.XObject
    reviewer = signed_in(make_staff(QA_REVIEWERS, "quinn"), viewport=PHONE)
    reviewer.goto(f"/documents/{document.pk}/")
    expect(reviewer.get_by_role("heading", name="The original is under lock")).to_be_visible()
    expect(reviewer.get_by_text("Open the original only on a computer")).to_be_visible()
    shoot(reviewer, "locked_qa_phone")
    with pikepdf.open(download(reviewer, "Download the original").path()) as original:
        assert "/OpenAction" in original.Root
