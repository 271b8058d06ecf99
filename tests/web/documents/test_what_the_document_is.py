"""Pages of rejected documents and documents in review: each says in one sentence what is wrong."""

from html import unescape

import pytest

from ingestion.reading.results import Box
from ingestion.rules.findings import RuleFinding, format_area
from ingestion.storage.archive import get_archive
from samples.added_marks import Stamp, add_stamp
from tests.factories import make_staff, verdict
from tests.ingestion.reading.documents import make_pdf
from tests.web.conftest import text
from tests.web.scenes import make_packet
from tests.web.sentences import SENTENCES
from web.documents.page_display import MarkedArea
from web.documents.page_images import build_page_image


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", SENTENCES)
def test_the_page_of_a_document_says_what_the_matter_is(signed_in, site, mara, case):
    state, finding, sentence, advice = case
    document = make_packet(site, mara, verdict(state, finding)).documents.first()
    page = unescape(text(signed_in.get(f"/documents/{document.pk}/")))
    assert sentence in page
    assert advice in page


def test_the_place_of_a_stamp_is_marked_on_the_page(site, mara, tmp_path):
    reviewer = make_staff("QA reviewers", "quinn")
    content = add_stamp(make_pdf(), Stamp("VOID", degrees=20))
    finding = RuleFinding(
        "STAMPED_VOID",
        1,
        {"stamp": "VOID", "page": 1, "area": format_area(Box(100.0, 200.0, 180.0, 240.0))},
    )
    document = make_packet(
        site, mara, verdict("IN_REVIEW", finding), content=content
    ).documents.get()
    (tmp_path / "incoming").write_bytes(content)
    get_archive().put(tmp_path / "incoming", document.sha256)
    image = build_page_image(reviewer, document, document.findings.all(), 1)
    assert image.marked_areas == (MarkedArea(96.0, 196.0, 88.0, 48.0),)
