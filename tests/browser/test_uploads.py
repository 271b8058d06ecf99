"""Uploads with lost connections, with reopened pages, and without JavaScript."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from audit.ledger.queries import list_entries
from ingestion.intake import drafts
from ingestion.models import Document, DraftFile, Packet
from samples.documents import make_sample
from tests.browser.actions import SAMPLE, choose, fits, make_sample_site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
TIMEOUT = 20_000  # milliseconds, for the detection of a type


@pytest.fixture
def site():
    return make_sample_site()


@pytest.fixture
def files(tmp_path):
    """Return two documents whose names suggest no type."""
    for name, kind in {"scan_01.pdf": "irb-approval", "scan_02.pdf": "delegation-log"}.items():
        content = make_sample(kind, today=datetime.now(UTC).date(), site=SAMPLE)
        (tmp_path / name).write_bytes(content)
    return [tmp_path / "scan_01.pdf", tmp_path / "scan_02.pdf"]


@pytest.fixture
def page(signed_in, mara):
    opened = signed_in(mara)
    opened.goto("/packets/new/")
    return opened


def received(page, number):
    there = page.locator("[data-status]", has_text="Received")
    expect(there).to_have_count(number, timeout=TIMEOUT)


def kinds(page):
    return [each.input_value() for each in page.locator(".sl-row select").all()]


@pytest.mark.slow
def test_files_selected_before_the_script_has_loaded_are_listed(signed_in, mara, files):
    page, asked = signed_in(mara), []

    def hold(route):  # a slow line: the form is there, its script is not
        asked.append(route)

    page.route("**/upload*.js", hold)
    page.goto("/packets/new/", wait_until="commit")
    for number, file in enumerate(files, 1):
        page.locator(f"#file-{number}").set_input_files(file)
    [script] = asked
    script.continue_()
    received(page, 2)
    types = page.locator(".sl-row select")
    for number, kind in enumerate(["irb-approval", "delegation-log"]):
        expect(types.nth(number)).to_have_value(kind, timeout=TIMEOUT)


@pytest.mark.slow
def test_a_file_selected_in_the_picker_before_the_script_has_loaded_is_uploaded(
    signed_in, mara, files
):
    page, asked = signed_in(mara), []
    page.route("**/upload*.js", lambda route: asked.append(route))  # noqa: PLW0108 - it is inspected
    page.goto("/packets/new/", wait_until="commit")
    page.locator("[data-drop] input").set_input_files(files[0])
    [script] = asked
    script.continue_()
    received(page, 1)


@pytest.mark.slow
def test_an_upload_continues_after_a_lost_connection(page, files):
    answers = []
    page.on(
        "response", lambda got: answers.append(got.status) if got.url.endswith("/files/") else 0
    )
    choose(page, files[0])
    received(page, 1)
    page.context.set_offline(True)
    choose(page, files[1])
    connection_error = page.locator("[data-connection-error]")
    expect(connection_error).to_contain_text("files that were received are saved", timeout=TIMEOUT)
    page.get_by_role("button", name="Send packet (2)").click()
    assert not Packet.objects.exists()
    page.context.set_offline(False)
    page.wait_for_url("**/packets/PKT-*/")
    assert [status for status in answers if status == 201] == [201, 201]  # each was sent once
    assert Document.objects.count() == 2


@pytest.mark.slow
def test_a_file_whose_response_was_lost_is_not_sent_again(page, files, monkeypatch):
    take, kept = drafts.add_finished_upload, []

    def take_and_fall(upload):
        answer = take(upload)
        kept.append(answer)
        if len(kept) == 1:
            raise ConnectionResetError("the line went dead behind the last byte")
        return answer

    monkeypatch.setattr(drafts, "add_finished_upload", take_and_fall)
    choose(page, files[0])
    received(page, 1)
    assert len(kept) == 1
    assert DraftFile.objects.count() == 1


def test_a_reopened_page_shows_the_saved_files(page, files):
    choose(page, *files)
    received(page, 2)
    expect(page.locator(".sl-row select").first).to_have_value("irb-approval", timeout=TIMEOUT)
    page.locator(".sl-row select").last.select_option("gcp-certificate")
    expect(page.locator("[data-hint]").last).to_contain_text("looks like", timeout=TIMEOUT)
    page.locator(".sl-row input:visible").fill("Jo Brandt")
    with page.expect_response("**/packets/new/files/*/"):
        page.locator("h1").click()
    reopened = page.context.new_page()
    page.close()
    reopened.goto("/packets/new/")
    received(reopened, 2)
    assert kinds(reopened) == ["irb-approval", "gcp-certificate"]
    expect(reopened.get_by_label("Name of the person in scan_02.pdf")).to_have_value("Jo Brandt")
    reopened.get_by_role("button", name="Remove scan_02.pdf").click()
    reopened.get_by_role("button", name="Send packet (1)").click()
    reopened.wait_for_url("**/packets/PKT-*/")
    assert Document.objects.get().document_type == "irb-approval"
    assert not DraftFile.objects.exists()


@pytest.mark.requirement("R08")
def test_overruling_a_detected_type_needs_one_confirmation_which_is_recorded(page, files):
    choose(page, files[0])
    expect(page.locator(".sl-row select")).to_have_value("irb-approval", timeout=TIMEOUT)
    expect(page.locator("[data-hint]")).to_contain_text("Type detected from the document")
    page.locator(".sl-row select").select_option("delegation-log")
    page.get_by_role("button", name="Send packet (1)").click()
    expect(page.locator("#problems")).to_be_focused()
    page.get_by_role("link", name="scan_01.pdf: the detected type").click()
    expect(page.locator(".sl-row select")).to_be_focused()
    page.get_by_role("button", name="Send packet (1)").click()
    page.wait_for_url("**/packets/PKT-*/")
    entries = list_entries(Document.objects.get().subject)
    assert [entry.event for entry in entries] == ["document.received", "document.guess_overruled"]
    detail = {"looks_like": "irb-approval", "sent_as": "delegation-log"}
    assert detail.items() <= entries[1].detail.items()


def test_the_same_file_twice_is_one_row(page, files, tmp_path):
    (tmp_path / "copy.pdf").write_bytes(files[0].read_bytes())
    choose(page, files[0])
    received(page, 1)
    choose(page, tmp_path / "copy.pdf")
    same = page.get_by_text("Received. copy.pdf is the same file.")
    expect(same).to_be_visible(timeout=TIMEOUT)
    expect(page.locator(".sl-row")).to_have_count(1)


@pytest.mark.slow
def test_without_javascript_a_saved_file_need_not_be_selected_again(signed_in, mara, tmp_path):
    (tmp_path / "scan0001.pdf").write_bytes(b"%PDF-1.7 nobody can tell")
    page = signed_in(mara, java_script_enabled=False, viewport={"width": 320, "height": 640})
    page.goto("/packets/new/")
    page.locator("#file-0").set_input_files(tmp_path / "scan0001.pdf")
    page.get_by_role("button", name="Send packet").click()
    expect(
        page.get_by_role("link", name="Select a document type for scan0001.pdf.")
    ).to_be_visible()
    assert fits(page)
    page.get_by_label("Type of scan0001.pdf").select_option("irb-approval")
    page.get_by_role("button", name="Send packet").click()
    page.wait_for_url("**/packets/PKT-*/")
    assert page.locator("h3").inner_text() == "IRB approval"


@pytest.mark.slow
def test_without_javascript_a_saved_file_can_be_removed(signed_in, mara, files):
    page = signed_in(mara, java_script_enabled=False)
    page.goto("/packets/new/")
    page.locator("#file-0").set_input_files(files[0])
    page.locator("#file-1").set_input_files({"name": "a.xlsx", "mimeType": "x/y", "buffer": b"x"})
    page.get_by_role("button", name="Send packet").click()
    page.get_by_role("button", name="Remove scan_01.pdf").click()
    expect(page.locator(".sl-row")).to_have_count(0)
    assert not Packet.objects.exists()
