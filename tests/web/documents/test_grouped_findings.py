"""Pages group the findings of a document that differ only in their page."""

import re
from html import unescape

import pytest
from django.urls import reverse

from ingestion.models import Document
from ingestion.rules.findings import RuleFinding
from tests.factories import verdict
from tests.ingestion.review.reviewers import lead
from tests.web.scenes import make_packet

SUSPECT_PAGES = (18, 24, 46, 55, 60)
SENTENCE = "5 pages could not be read with certainty: 18, 24, 46, 55, 60."
ADVICE = "Upload a sharper scan at 300 dpi if you have one."
REFERENCE = "Reference: OCR_LOW_CONFIDENCE"


def doubtful(what, page):
    return RuleFinding("OCR_LOW_CONFIDENCE", page, {"what": what, "page": page})


@pytest.fixture
def document(site, mara) -> Document:
    """Return a scan with five unreadable pages, one of them in part."""
    *others, last = SUSPECT_PAGES
    found = [*(doubtful("the text", page) for page in others), doubtful("all of the text", last)]
    return make_packet(site, mara, verdict("IN_REVIEW", *found)).documents.get()


def text_of(client, address):
    """Return the text of the main part of a page, without tags."""
    page = client.get(address).content.decode()
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


@pytest.mark.parametrize("address", ["/documents/{0.pk}/", "/packets/{0.packet.reference}/"])
def test_several_unreadable_pages_are_shown_as_one_finding(signed_in, document, address):
    text = text_of(signed_in, address.format(document))
    for part in (SENTENCE, ADVICE, "We do not decide on the basis of words", REFERENCE):
        assert text.count(part) == 1, part
    assert "on page 18" not in text


def test_reviewers_can_open_each_page_of_a_finding(client, document):
    client.force_login(lead("rafael", "Rafael Duarte"))
    address = reverse("review", args=[document.pk])
    text = text_of(client, address)
    assert text.count(SENTENCE) == 1
    assert text.count(REFERENCE) == 1
    page = client.get(address).content.decode()
    assert all(f'href="?page={number}"' in page for number in SUSPECT_PAGES)


def test_findings_of_one_code_with_different_facts_keep_their_sentences(signed_in, site, mara):
    found = [
        doubtful("the text", 2),
        doubtful("the text", 3),
        RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": "the signature"}),
    ]
    document = make_packet(site, mara, verdict("IN_REVIEW", *found)).documents.get()
    text = text_of(signed_in, f"/documents/{document.pk}/")
    assert "2 pages could not be read with certainty: 2, 3." in text
    assert "We could not find the signature with certainty." in text
    assert text.count(ADVICE) == 1
    assert text.count(REFERENCE) == 1


def test_a_single_finding_keeps_its_own_sentence(signed_in, site, mara):
    document = make_packet(site, mara, verdict("IN_REVIEW", doubtful("the text", 18)))
    text = text_of(signed_in, f"/documents/{document.documents.get().pk}/")
    assert "We could not read the text on page 18 with certainty." in text
