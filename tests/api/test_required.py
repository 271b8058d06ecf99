"""A program asks what its site needs, and where its documents do not fit together."""

from tests.factories import make_read


def test_a_program_sees_what_its_site_needs(program, site):
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


def test_a_gap_names_both_documents_and_what_resolves_it(program, site):
    page = make_read(site, "protocol-signature-page", protocol_version="3.0")
    letter = make_read(site, "irb-approval", protocol_version="2.0")
    (gap,) = program.get("sites/0203/required").json()["gaps"]
    assert (gap["code"], gap["documents"]) == ("PROTOCOL_VERSION_MISMATCH", [page.pk, letter.pk])
    assert gap["what"] == (
        "The signed protocol page names protocol version 3.0; the IRB approval names 2.0."
    )


def test_another_sites_needs_do_not_exist(stranger, site):
    assert stranger.get("sites/0203/required").status_code == 404
