"""The required documents of a site, and conflicts between its documents."""

from tests.factories import make_read


def test_a_program_sees_the_required_documents_of_its_site(program, site):
    licence = make_read(site, "medical-licence", expiry_date="2099-01-01")
    answer = program.get("sites/0203/required").json()
    assert (answer["complete"], answer["met"], answer["gaps"]) == (False, 1, [])
    rows = {row["document_type"]: row for row in answer["required"]}
    assert rows["medical-licence"] == {
        "document_type": "medical-licence",
        "name": "Medical licence",
        "whose": "",
        "standing": "current",
        "counts_until": "2099-01-01",
        "reason": "",
        "document": licence.pk,
    }
    assert rows["cv"]["standing"] == "missing"


def test_a_gap_names_both_documents_and_its_resolution(program, site):
    page = make_read(site, "protocol-signature-page", protocol_version="3.0")
    letter = make_read(site, "irb-approval", protocol_version="2.0")
    (gap,) = program.get("sites/0203/required").json()["gaps"]
    assert (gap["code"], gap["documents"]) == ("PROTOCOL_VERSION_MISMATCH", [page.pk, letter.pk])
    assert gap["what"] == (
        "The signed protocol page names protocol version 3.0, but the IRB approval names 2.0."
    )


def test_the_required_documents_of_another_site_are_not_found(other_program, site):
    assert other_program.get("sites/0203/required").status_code == 404
