"""A number of any length in an address or a form never causes a server error."""

import pytest

from tests.factories import make_staff
from tests.web.scenes import IN_REVIEW, make_packet, send

DIGITS = "9" * 5_000  # Python converts up to 4300

ADDRESSES = {
    "QA leads": ["/admin/review/?page={}", "/admin/review/{}/", "/documents/{}/"],
    "Operations": ["/admin/ops/stuck/?page={}", "/sites/?days={}", "/sites/?page={}"],
    "Regulatory affairs": [
        "/admin/audit/?before={}",
        "/admin/audit/?q=seq:{}",
        "/admin/audit/document/{}/",
        "/admin/audit/verify/{}/",
        "/admin/audit/export/{}/",
        "/admin/audit/reviews/?page={}",
        "/access/?page={}",
        "/figures/?days={}",
    ],
}


@pytest.mark.parametrize(
    ("role", "path"), [(role, path) for role, paths in ADDRESSES.items() for path in paths]
)
def test_a_long_number_in_an_address_is_answered(client, db, role, path):
    client.force_login(make_staff(role))
    assert client.get(path.format(DIGITS)).status_code < 500


@pytest.mark.parametrize("query", ["rows={}", "corrects={}", "site={}"])
def test_a_long_number_in_the_address_of_the_upload_form_is_answered(signed_in, query):
    assert signed_in.get("/packets/new/?" + query.format(DIGITS)).status_code == 200
    assert signed_in.get("/packets/new/files/?" + query.format(DIGITS)).status_code < 500


def test_a_long_page_number_in_a_review_shows_a_page(client, site, mara):
    document = make_packet(site, mara, IN_REVIEW).documents.get()
    client.force_login(make_staff("QA leads"))
    assert client.get(f"/admin/review/{document.pk}/?page={DIGITS}").status_code == 200


@pytest.mark.parametrize("field", ["remove", "site", "token"])
def test_a_long_number_in_the_upload_form_is_answered(signed_in, field):
    assert send(signed_in, **{field: DIGITS}).status_code < 500


@pytest.mark.parametrize(
    ("role", "path", "fields"),
    [
        ("QA leads", "/admin/review/together/", {"document": DIGITS}),
        ("QA leads", "/admin/review/together/", {"document": "1", "versions": f"{DIGITS}=x"}),
        ("Operations", "/admin/ops/stuck/retry/", {"chosen": DIGITS, "reason": "again"}),
        ("Operations", "/admin/ops/stuck/release/", {"chosen": DIGITS, "reason": "again"}),
    ],
)
def test_a_long_number_in_a_list_of_selected_documents_is_answered(client, db, role, path, fields):
    client.force_login(make_staff(role))
    assert client.post(path, fields).status_code < 500


def test_a_content_length_that_no_number_can_hold_is_too_large(client, db):
    answer = client.generic("POST", "/login/", b"x", CONTENT_LENGTH=DIGITS)
    assert answer.status_code == 413
