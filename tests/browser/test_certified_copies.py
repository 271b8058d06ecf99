"""A certified copy is signed and downloaded in a browser."""

import zipfile

import pytest
from playwright.sync_api import expect

from ingestion.storage.archive import get_archive
from tests.browser.actions import fits
from tests.web.scenes import FILED, make_packet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.requirement("R29"),
]
CONTENT = b"%PDF-1.7 the approval, as it came"


@pytest.mark.slow
def test_a_coordinator_signs_and_downloads_a_certified_copy(signed_in, site, mara, tmp_path):
    document = make_packet(site, mara, FILED, content=CONTENT).documents.get()
    (tmp_path / "incoming").write_bytes(CONTENT)
    get_archive().put(tmp_path / "incoming", document.sha256)
    page = signed_in(mara, viewport={"width": 320, "height": 900})
    page.goto(f"/documents/{document.pk}/")
    page.get_by_role("link", name="Certified copy").click()
    page.get_by_label("Purpose of the copy").fill("The inspector asks for it.")
    page.get_by_label("User name").fill("mara")
    page.get_by_label("Password").fill("wrong horse")
    page.get_by_role("button", name="Sign and certify").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter your own user name and password")
    expect(page.get_by_label("Purpose of the copy")).to_have_value("The inspector asks for it.")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign and certify").click()
    assert fits(page)
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download the copy").click()
    with zipfile.ZipFile(taken.value.path()) as package:
        assert package.read("original/irb-approval.pdf") == CONTENT
