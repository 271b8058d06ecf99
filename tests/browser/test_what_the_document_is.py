"""Pages that say in one sentence what is wrong with a document, and mark the place."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from ingestion.intake import registration
from ingestion.models import WorkerHost
from samples.added_marks import Stamp, add_stamp
from samples.documents import make_sample
from tests.browser.actions import SAMPLE, fits, make_sample_site, work
from tests.factories import verdict
from tests.ingestion.review.reviewers import lead
from tests.web.scenes import make_packet
from tests.web.sentences import SENTENCES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SHOTS = os.environ.get("SHOTS")


@pytest.fixture
def site():
    return make_sample_site()


def shoot(page, name):
    assert fits(page), name
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.mark.slow
def test_every_sentence_is_read_on_a_page(signed_in, mara):
    page = signed_in(mara, viewport={"width": 1100, "height": 900})
    site = mara.memberships.get().site
    for number, (state, finding, sentence, advice) in enumerate(SENTENCES):
        document = make_packet(site, mara, verdict(state, finding)).documents.first()
        page.goto(f"/documents/{document.pk}/")
        expect(page.get_by_text(sentence).first).to_be_visible()
        expect(page.get_by_text(advice).first).to_be_visible()
        shoot(page, f"sentence_{number:02}_{finding.code}")


@pytest.mark.slow
def test_the_place_of_a_stamp_is_marked_for_the_reviewer(signed_in, mara):
    content = make_sample("irb-approval", today=datetime.now(UTC).date(), site=SAMPLE)
    content = add_stamp(content, Stamp("VOID", size=44, degrees=20, place=(0.6, 0.4)))
    sent = registration.UploadedDocument("a.pdf", "irb-approval", "", ContentFile(content, "a.pdf"))
    WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")
    site = mara.memberships.get().site
    packet = registration.register_upload(site=site, user=mara, files=[sent])
    work()
    document = packet.documents.get()
    assert (document.state, document.code) == ("IN_REVIEW", "STAMPED_VOID")
    page = signed_in(lead("ines", "Inês Duarte"), viewport={"width": 1100, "height": 900})
    page.goto(f"/admin/review/{document.pk}/")
    expect(page.get_by_text("Page 1 is stamped “VOID”.").first).to_be_visible()
    expect(page.get_by_role("img", name="with the finding marked").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    shoot(page, "stamp_for_the_reviewer")
