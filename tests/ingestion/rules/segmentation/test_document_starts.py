"""Tests of where documents begin: the model of boundaries, attachments, and shared sheets."""

from dataclasses import replace
from hashlib import sha256
from itertools import permutations

import pytest

from ingestion.core.file_parts import ONE_ABOVE_THE_OTHER, QUARTERS, SIDE_BY_SIDE
from ingestion.reading.results import Box, RegisteredPage, TextSource, Word
from ingestion.rules.document_types import BOUNDARY_MODEL_FILE, RULES_VERSION
from ingestion.rules.segmentation.boundary_model import load_boundary_model
from ingestion.rules.segmentation.document_starts import find_document_starts
from ingestion.rules.segmentation.page_comparison import (
    ROW_FEATURES,
    compare_pages,
    continues_log,
)
from ingestion.rules.segmentation.page_evidence import collect_evidence, find_running_lines
from ingestion.rules.segmentation.page_regions import cut_out
from ingestion.rules.segmentation.shared_sheets import (
    find_reduced_pages,
    split_shared_sheet,
)
from tests.ingestion.rules.documents import COMPLETE
from tests.ingestion.rules.pages import make_page, make_reading

SLUGS = ("irb-approval", "medical-licence", "gcp-certificate", "cv")
PROSE = tuple(
    f"The samples of visit {week} are stored at the site until they are collected"
    for week in range(30)
)


def page_of(slug, number=1):
    return make_page(*COMPLETE[slug][0], number=number)


def put_on_sheet(pages, regions, *, scale, width, height):
    """Return a sheet with reduced pages, each at the upper left corner of its region."""

    def reduced(page, region):
        left, top = region[0] * width, region[1] * height
        left += (width * (region[2] - region[0]) - page.width * scale) / 2
        for word in page.words:
            box = Box(*(scale * side for side in word.box))
            moved = Box(box.left + left, box.top + top, box.right + left, box.bottom + top)
            yield Word(word.text, moved, word.confidence)

    words = [
        word for page, region in zip(pages, regions, strict=True) for word in reduced(page, region)
    ]
    text = "\n".join(page.text for page in pages)
    return replace(pages[0], width=width, height=height, words=tuple(words), text=text, marks=())


def quarters(pages):
    return put_on_sheet(pages, QUARTERS, scale=0.45, width=612.0, height=792.0)


def starts_of(reading):
    return [(start.page, start.region) for start in find_document_starts(reading).starts]


def compare(page, *earlier):
    evidence = [collect_evidence(each) for each in earlier]
    return compare_pages(collect_evidence(page), evidence, length=len(earlier), blanks=0)


def test_the_version_of_the_rules_identifies_the_model_of_boundaries():
    digest = sha256(BOUNDARY_MODEL_FILE.read_bytes()).hexdigest()
    assert f"+boundaries-{digest[:8]}+" in RULES_VERSION


def test_the_model_uses_exactly_the_features_that_are_compared():
    features = compare(make_page("One"), make_page("Other"))
    assert sorted(load_boundary_model().features) == sorted(features)


def test_a_file_of_two_types_is_two_documents():
    found = find_document_starts(
        make_reading(page_of("irb-approval"), page_of("medical-licence", 2))
    )
    assert [(start.page, start.slug) for start in found.starts] == [
        (1, "irb-approval"),
        (2, "medical-licence"),
    ]
    assert not found.is_certain


def test_text_that_continues_on_the_next_page_is_one_document_without_doubt():
    first = make_page(*COMPLETE["irb-approval"][0], *PROSE[:20], "Page 1 of 2")
    second = make_page(*(line.casefold() for line in PROSE), "Page 2 of 2", number=2)
    found = find_document_starts(make_reading(first, second))
    assert len(found.starts) == 1
    assert found.is_certain


@pytest.mark.parametrize(
    "title", ["Appendix B", "ATTACHMENT 2: PROCEDURE", "Annex (list)", "Annex | (list)"]
)
def test_a_page_with_the_title_of_an_attachment_begins_no_document(title):
    reading = make_reading(page_of("irb-approval"), make_page(title, *PROSE, number=2))
    assert starts_of(reading) == [(1, None)]


@pytest.mark.parametrize("title", ["Schedule of assessments", "Appendix to the budget of the site"])
def test_a_title_is_that_of_an_attachment_only_with_nothing_but_its_number(title):
    assert not compare(make_page(title, *PROSE), page_of("irb-approval"))["attached"]


@pytest.mark.parametrize("ending", ["(continued)", "- continued", "(cont'd)", "(cont.)"])
def test_a_page_with_a_title_that_is_continued_begins_no_document(ending):
    title = f"NOTICE OF APPROVAL {ending}"
    reading = make_reading(page_of("gcp-certificate"), make_page(title, *PROSE, number=2))
    assert starts_of(reading) == [(1, None)]


@pytest.mark.parametrize("title", ["Notice of continued approval", "Approval continued in 2026"])
def test_a_title_about_a_continuation_is_not_continued(title):
    features = compare(make_page(title, *PROSE), page_of("irb-approval"))
    assert not features["continued title"]


LOG = "Freezers of the laboratory"
LOG_COLUMNS = "Shelf                     Box                 Checked"
LOG_CAPTIONS = ("Building: Cedar Ridge", "Keeper: Jane Miller")


def log_page(*head, first_row=1):
    rows = (
        f"Upper left {row}             North               {row} March 2026" for row in range(9)
    )
    return make_page(*head, *tuple(rows)[first_row:], number=first_row)


def continues(page, first):
    return continues_log(collect_evidence(page), collect_evidence(first))


def test_a_page_with_the_title_and_the_table_alone_continues_a_log():
    log = log_page(LOG, *LOG_CAPTIONS, LOG_COLUMNS)
    assert continues(log_page(LOG, LOG_COLUMNS), log)
    assert not continues(log_page(LOG_COLUMNS), log)


def test_a_log_with_the_captions_above_its_table_is_not_continued():
    log = log_page(LOG, *LOG_CAPTIONS, LOG_COLUMNS)
    other = log_page(LOG, LOG_CAPTIONS[0], "Keeper: Omar Haddad", LOG_COLUMNS)
    for another in (log, other, log_page("Fridges on the ward", LOG_COLUMNS)):
        assert not continues(another, log)


def test_a_stain_that_was_read_as_a_row_does_not_count_as_a_caption():
    stained = log_page(LOG, "ocui", LOG_COLUMNS)
    assert not continues(log_page(LOG, LOG_COLUMNS), stained)


def test_a_page_that_continues_a_log_begins_no_document_but_may_be_in_doubt():
    everywhere = replace(load_boundary_model(), base=9.0, trees=())
    log = log_page(LOG, *LOG_CAPTIONS, LOG_COLUMNS)
    later = log_page(LOG, LOG_COLUMNS, first_row=2)
    found = find_document_starts(make_reading(log, later), model=everywhere)
    assert [start.page for start in found.starts] == [1]
    assert not found.is_certain


@pytest.mark.parametrize(("base", "is_certain"), [(-2.5, True), (-2.0, False)])
def test_page_numbers_alone_leave_no_page_without_doubt(base, is_certain):
    everywhere = replace(load_boundary_model(), base=base, trees=())
    pages = [make_page(*PROSE[:9], f"Page {number} of 2", number=number) for number in (1, 2)]
    found = find_document_starts(make_reading(*pages), model=everywhere)
    assert ([start.page for start in found.starts], found.is_certain) == ([1], is_certain)


@pytest.mark.parametrize(("last", "is_certain"), [("Mehta", True), ("Foley", False)])
def test_page_numbers_in_the_same_running_line_leave_less_doubt(last, is_certain):
    everywhere = replace(load_boundary_model(), base=-1.5, trees=())
    lines = [
        "Curriculum vitae - Arjun Mehta Page 1 of 2",
        f"Curriculum vitae - Arjun {last} Page 2 of 2",
    ]
    pages = [make_page(*PROSE[:9], line, number=number) for number, line in enumerate(lines, 1)]
    assert find_document_starts(make_reading(*pages), model=everywhere).is_certain == is_certain


def test_a_line_at_the_edge_of_a_scan_may_be_misread():
    header = "Protocol SLX-301, confidential, Lakeshore University Hospital"
    misread = header.replace("confidential", "confidentiai")
    for source, shared in ((TextSource.OCR, 1), (TextSource.NATIVE, 0)):
        first = make_page(header, *PROSE, source=source)
        second = make_page(misread, *COMPLETE["cv"][0], number=2, source=source)
        assert compare(second, first)["shared edges"] == shared


def test_the_width_of_print_is_compared():
    page = make_page(*PROSE)
    words = tuple(
        word._replace(box=word.box._replace(right=(word.box.left + word.box.right) / 2))
        for word in page.words
    )
    assert compare(replace(page, words=words), page)["width change"] == pytest.approx(1.0)
    assert compare(page, page)["width change"] == 0


def test_lines_at_the_edges_of_every_page_are_not_compared():
    notice = "Printed by the document system"
    pages = [
        make_page(notice, *COMPLETE[slug][0], number=number)
        for number, slug in enumerate(SLUGS, start=1)
    ]
    running = find_running_lines(pages)
    assert len(running) == 1
    first, second = (collect_evidence(page, running) for page in pages[:2])
    features = compare_pages(second, [first], length=1, blanks=0)
    assert not features["same beginning"]
    assert not features["shared edges"]
    assert len(starts_of(make_reading(*pages))) == 4


def test_a_header_of_some_pages_is_compared():
    header = "Protocol SLX-301, confidential"
    pages = [make_page(header, *PROSE), make_page(header, *PROSE, number=2), page_of("cv", 3)]
    assert find_running_lines(pages) == frozenset()
    assert compare(pages[1], pages[0])["shared edges"]


def test_four_reduced_documents_on_a_sheet_are_found_in_reading_order():
    sheet = quarters([page_of(slug) for slug in SLUGS])
    found = find_document_starts(make_reading(sheet))
    assert [(start.region, start.slug) for start in found.starts] == list(
        zip(QUARTERS, SLUGS, strict=True)
    )


def test_four_reduced_pages_of_one_document_are_in_doubt_and_not_divided():
    texts = [make_page(*(line.casefold() for line in PROSE)) for _ in range(4)]
    found = find_document_starts(make_reading(quarters(texts)))
    assert [(start.page, start.region) for start in found.starts] == [(1, None)]
    assert not found.is_certain


def test_reduced_pages_are_found_by_the_white_bands_between_them():
    pages = [make_page(*PROSE)] * 4
    assert find_reduced_pages(quarters(pages)) == QUARTERS
    side = put_on_sheet(pages[:2], SIDE_BY_SIDE, scale=0.6, width=792.0, height=612.0)
    assert find_reduced_pages(side) == SIDE_BY_SIDE
    above = put_on_sheet(pages[:2], ONE_ABOVE_THE_OTHER, scale=0.45, width=612.0, height=792.0)
    assert find_reduced_pages(above) == ONE_ABOVE_THE_OTHER


def test_reduced_pages_are_found_if_the_number_of_one_is_close_to_the_middle():
    sheet = quarters([make_page(*PROSE)] * 4)
    number = Word("Page", Box(500.0, 386.0, 510.0, 390.0), 90.0)
    assert find_reduced_pages(replace(sheet, words=(*sheet.words, number))) == QUARTERS
    line = [number._replace(box=Box(x, 386.0, x + 10, 390.0)) for x in range(320, 600, 3)]
    assert find_reduced_pages(replace(sheet, words=(*sheet.words, *line))) == ()


def test_reduced_pages_are_found_if_their_words_are_in_high_boxes_as_in_tables():
    sheet = quarters([make_page(*PROSE)] * 4)
    words = tuple(
        word._replace(box=word.box._replace(bottom=word.box.top + 10)) for word in sheet.words
    )
    assert find_reduced_pages(replace(sheet, words=words)) == QUARTERS


def test_two_titles_on_a_page_are_two_documents_only_if_a_white_band_is_between_them():
    approval, log = COMPLETE["irb-approval"][0], COMPLETE["training-log"][0]
    gap = 29 - len(approval)
    apart = make_page(*approval, *[""] * gap, *log)
    assert split_shared_sheet(apart) == ONE_ABOVE_THE_OTHER
    row = 24 - len(approval)  # in the middle of the sheet
    filled = make_page(*approval, *[""] * row, PROSE[0], *[""] * (gap - row - 1), *log)
    assert split_shared_sheet(filled) == ()


def test_a_line_at_the_foot_of_a_page_is_no_title_of_a_second_document():
    approval, (title, *lines) = COMPLETE["irb-approval"][0], COMPLETE["training-log"][0]
    above = [*approval, *[""] * (29 - len(approval))]
    below = [*lines[:4], *[""] * 13]
    assert split_shared_sheet(make_page(*above, title, *below)) == ONE_ABOVE_THE_OTHER
    assert split_shared_sheet(make_page(*above, *below, title)) == ()


def test_the_lines_of_a_reduced_page_on_a_skewed_scan_stay_apart():
    lines = [f"The sample of visit {row} is stored" for row in range(6)]
    page = make_page(*lines, source=TextSource.OCR)
    words = tuple(
        word._replace(
            box=word.box._replace(
                top=word.box.top + word.box.left / 20, bottom=word.box.bottom + word.box.left / 20
            )
        )
        for word in page.words
    )
    half = cut_out(replace(page, words=words), SIDE_BY_SIDE[0])
    assert half.text.splitlines() == lines


def test_print_of_ordinary_size_in_two_columns_is_no_sheet_with_reduced_pages():
    row = "The samples are stored      at the site until then"
    page = replace(make_page(*[row] * 20), width=792.0, height=612.0)
    assert find_reduced_pages(page) == ()


def test_a_page_that_was_not_read_begins_no_document():
    unread = make_page(number=2, error="OCR failed")
    found = find_document_starts(make_reading(page_of("irb-approval"), unread))
    assert len(found.starts) == 1
    assert found.is_certain


def test_a_later_page_in_the_numbering_of_the_document_before_begins_no_document():
    pages = [
        make_page(*COMPLETE["irb-approval"][0], "Page 1 of 3"),
        make_page("Continued", "Page 3 of 3", number=2),
    ]
    found = find_document_starts(make_reading(*pages))
    assert len(found.starts) == 1
    assert found.is_certain


def test_later_pages_and_instructions_of_a_registered_form_belong_to_it():
    def form_page(number, *lines):
        form = RegisteredPage("fda-1572-2009-05", number, 1.0, is_edition_certain=True)
        return make_page(*lines, number=number, forms=(form,))

    reading = make_reading(
        form_page(1, *COMPLETE["form-fda-1572"][0]),
        form_page(2, "COMMITMENTS", *PROSE),
        make_page("INSTRUCTIONS FOR COMPLETING THE STATEMENT", *PROSE, number=3),
    )
    found = find_document_starts(reading)
    assert len(found.starts) == 1
    assert found.is_certain


def test_the_bound_of_the_model_is_never_lower_than_the_model():
    model = load_boundary_model()
    bound = model.bound(ROW_FEATURES)
    pages = [page_of(slug) for slug in SLUGS] + [make_page(*PROSE), make_page("Other")]
    for one, other in permutations(pages, 2):
        features = compare(one, other)
        known = {name: value for name, value in features.items() if name not in ROW_FEATURES}
        assert bound.probability(known) >= model.probability(features)


def test_the_spaces_of_a_letter_at_its_middle_are_no_gutter():
    sentence = (
        f"{'until final approval by the Research Ethics Board':50} is given in writing to you"
    )
    letter = make_page(
        "Research Ethics Office",
        f"{'From:':52}Dr. Templeman, Research Ethics Board",
        f"{'Subject:':52}Modifications required before approval",
        "Dear Dr. Boudreau,",
        *[sentence] * 20,
    )
    assert split_shared_sheet(letter) == ()
