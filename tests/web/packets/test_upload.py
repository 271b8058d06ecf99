"""The upload form, with and without JavaScript."""

import json

import pytest

from ingestion.intake.manifest import SubmissionFault
from ingestion.models import Document, DraftFile, Packet, PortalLimitState
from tests.factories import make_batch, make_site, make_user
from tests.web.scenes import (
    FILED,
    REJECTED,
    make_packet,
    pdf,
    send,
)
from web.packets.upload_form import FormProblem, UploadForm


def text(answer):
    return answer.content.decode()


def key(filename):
    """Return the key of the row of a saved file."""
    return f"k{DraftFile.objects.get(filename=filename).pk}"


def script(client, **fields):
    """Send the form as upload.js does."""
    data = {"site": "0203", "token": "t-1", **fields}
    answer = client.post("/packets/new/", data, headers={"Accept": "application/json"})
    return answer.status_code, json.loads(answer.content)


def test_a_form_without_javascript_registers_a_packet(signed_in, site):
    answer = send(signed_in, **{"file-0": pdf(), "type-0": "irb-approval", "file-1": pdf("cv.pdf"),
                                "type-1": "cv", "person-1": "Helena Brandt"})  # fmt: skip
    packet = Packet.objects.get()
    assert answer.url == f"/packets/{packet.reference}/"
    assert list(packet.documents.order_by("pk").values_list("doc_id", flat=True)) == [
        "irb-approval",
        "cv.helena-brandt",
    ]
    assert packet.site == site


def test_a_missing_type_is_taken_from_the_file_name(signed_in):
    send(signed_in, **{"file-2": pdf("Form_1572_site0203.pdf"), "type-2": ""})
    assert Document.objects.get().document_type == "form-fda-1572"


def test_a_file_with_an_unknown_name_needs_a_type(signed_in):
    answer = send(signed_in, **{"file-0": pdf("scan0001.pdf"), "type-0": ""})
    assert answer.status_code == 422
    assert "Select a document type for scan0001.pdf." in text(answer)
    assert f'href="#type-{key("scan0001.pdf")}"' in text(answer)


def test_a_cv_without_a_person_is_shown_again_with_the_entered_text(signed_in):
    answer = send(signed_in, **{"file-0": pdf(), "type-0": "irb-approval", "file-1": pdf("x.pdf"),
                                "type-1": "cv", "person-1": " "})  # fmt: skip
    page = text(answer)
    assert "<title>Error: Upload a packet" in page
    assert f'href="#person-{key("x.pdf")}"' in page
    assert page.count(" selected>") == 3  # the site and both types
    assert not Packet.objects.exists()


def test_an_empty_form_shows_an_error_at_the_first_row(signed_in):
    assert 'href="#file-0"' in text(send(signed_in, **{"type-0": "cv"}))
    assert "Add at least one document" in text(send(signed_in))


def test_a_packet_needs_a_site(client, db):
    sites = (make_site("1"), make_site("2"))
    client.force_login(make_user(sites=sites))
    answer = send(client, **{"file-0": pdf(), "site": ""})
    assert 'href="#site">Select the site' in text(answer)


def test_packets_cannot_be_sent_for_the_site_of_another_person(stranger, site):
    answer = send(stranger, **{"file-0": pdf()})
    assert answer.status_code == 422
    assert not Packet.objects.exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (pdf("letter.xlsx"), "We cannot open this file."),
        (pdf("irb.pdf", b""), "The file is empty."),
        (pdf("irb.pdf", b"x" * 1_200_000), "The file is 1.2 MB. The limit is 1 MB."),
    ],
    ids=["a spreadsheet", "an empty file", "a file that is too large"],
)
def test_an_unacceptable_file_is_refused_before_anything_is_registered(
    signed_in, settings, file, message
):
    settings.MAX_DOCUMENT_MB = 1
    file.seek(0)
    assert message in text(send(signed_in, **{"file-0": file}))
    assert not Packet.objects.exists()


def test_a_double_click_registers_one_packet(signed_in):
    first = send(signed_in, **{"file-0": pdf()})
    second = send(signed_in, **{"file-0": pdf()})
    assert first.url == second.url
    assert Packet.objects.count() == 1


def test_the_same_form_with_another_file_registers_another_packet(signed_in):
    send(signed_in, **{"file-0": pdf()})
    send(signed_in, **{"file-0": pdf("irb_approval_2.pdf")})
    assert Packet.objects.count() == 2


def test_at_capacity_the_form_says_when_to_send_it_again(signed_in, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    page = text(send(signed_in, **{"file-0": pdf("cv.pdf"), "type-0": "cv", "person-0": "Jo"}))
    assert "SiteLedger is busy. Your files are saved." in page
    assert "Send the packet again in 10 minutes." in page
    assert 'value="Jo"' in page
    assert Packet.objects.count() == 1


def test_the_same_form_with_other_bytes_of_equal_name_and_size_is_another_packet(signed_in):
    send(signed_in, **{"file-0": pdf(content=b"%PDF-1.7 a letter")})
    send(signed_in, **{"file-0": pdf(content=b"%PDF-1.7 a ledger")})
    assert Packet.objects.count() == 2


def test_two_people_with_the_same_token_send_two_packets(client, site, mara):
    for user in (mara, make_user(sites=(site,))):
        client.force_login(user)
        send(client, **{"file-0": pdf()})
    assert Packet.objects.count() == 2


def test_two_files_with_the_same_type_are_refused(signed_in):
    answer = send(
        signed_in, **{"file-0": pdf(), "file-1": pdf("other.pdf"), "type-1": "irb-approval"}
    )
    assert "one of several files" in text(answer)


def test_the_script_receives_the_address_of_the_packet(signed_in):
    status, answer = script(signed_in, **{"file-7": pdf()})
    assert (status, answer) == (201, {"location": f"/packets/{Packet.objects.get().reference}/"})


def test_the_script_receives_each_problem_with_its_input(signed_in):
    status, answer = script(signed_in, **{"file-7": pdf("cv.pdf")})
    assert status == 422
    assert [problem["anchor"] for problem in answer["problems"]] == [f"person-{key('cv.pdf')}"]


def test_the_panel_shows_filed_and_missing_documents(signed_in, site, mara):
    make_packet(site, mara, FILED, REJECTED)
    panel = text(signed_in.get("/packets/new/?site=0203", headers={"X-Fragment": "1"}))
    assert (panel.count("Filed"), panel.count("Rejected"), panel.count("Missing")) == (1, 1, 8)
    assert "<form" not in panel


def test_the_panel_shows_the_newest_document_of_a_type(signed_in, site, mara):
    make_packet(site, mara, REJECTED)
    make_packet(site, mara, FILED)
    panel = text(signed_in.get("/packets/new/", headers={"X-Fragment": "1"}))
    assert (panel.count("Filed"), panel.count("Rejected")) == (1, 0)


def test_a_single_site_is_preselected(signed_in):
    page = text(signed_in.get("/packets/new/"))
    assert '<option value="0203" selected>' in page
    assert "Choose a site" not in page


def test_a_correction_has_site_type_and_person_filled_in(client, mara, site):
    client.force_login(make_user(sites=(site, make_site())))
    page = text(client.get("/packets/new/?site=0203&type=cv&person=Helena%20Brandt"))
    assert '<option value="0203" selected>' in page
    assert 'data-type="cv" data-person="Helena Brandt"' in page


def test_the_form_without_javascript_has_inputs_for_the_maximum_number_of_files(
    signed_in, settings
):
    settings.MAX_UPLOAD_FILES = 12
    pages = [signed_in.get(f"/packets/new/?rows={rows}") for rows in ("", "12", "999", "x")]
    assert [text(page).count('name="file-') for page in pages] == [4, 12, 12, 4]


def test_too_many_files_are_refused_with_a_reason(signed_in, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 1
    answer = send(signed_in, **{"file-0": pdf(), "file-1": pdf()})
    assert answer.status_code == 400
    assert "If you uploaded many files, upload fewer at a time" in text(answer)


def test_a_problem_of_the_whole_packet_is_linked_with_the_documents():
    located = UploadForm(None, [])._locate_fault(SubmissionFault(0, "", "There is no room"))
    assert located == FormProblem("files", "There is no room", "not_registrable")


def test_people_without_a_site_cannot_send_a_packet(client, db):
    client.force_login(make_user())
    assert "You are not assigned to a site yet" in text(client.get("/packets/new/"))
    assert send(client, **{"file-0": pdf()}).status_code == 422


def test_the_panel_says_that_the_portal_does_not_respond(signed_in, site):
    assert "is not responding" not in signed_in.get("/packets/new/?site=0203").content.decode()
    PortalLimitState.objects.create(portal=site.portal, breaker="OPEN")
    assert "is not responding" in signed_in.get("/packets/new/?site=0203").content.decode()
