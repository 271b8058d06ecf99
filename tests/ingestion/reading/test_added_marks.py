"""Tests of the marks that people add: stamps, strike-outs and covered words."""

from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ingestion.reading.images.upright_ink import turn_upright
from ingestion.reading.ocr.engines import OcrWord, SegmentationMode
from ingestion.reading.ocr.stamps import read_stamp_image
from ingestion.reading.results import AddedMarkKind
from ingestion.reading.stamp_words import may_contain_stamp, read_stamp_line
from samples.added_marks import (
    DRAWN_FORMS,
    Stamp,
    StampForm,
    add_stamp,
    choose_drawn_stamp,
    choose_stamp,
    cover_words,
    strike_out,
)
from samples.documents import make_sample
from samples.renditions import make_scan
from samples.scanned_marks import (
    INK_COLOURS,
    Frame,
    RubberStamp,
    Scanner,
    press_stamp,
    print_pages,
    scan_pages,
)
from tests.ingestion.reading.documents import make_pdf, read, save

STAMPS = {
    "VOID": AddedMarkKind.VOID,
    "SUPERSEDED": AddedMarkKind.SUPERSEDED,
    "DRAFT": AddedMarkKind.DRAFT,
    "COPY": AddedMarkKind.COPY,
    "RECEIVED": AddedMarkKind.RECEIVED,
}
SENTENCES = (
    "Draft protocol of the study, and a copy of the consent form",
    "Void where prohibited. Copy of the approval letter attached.",
    "Received: 3 May 2026",
    "RECEIVED 17 February 2026, ACCEPTED 3 March 2026",
    "Sample size",
    "Copy: Dr. Ruiz",
)


def added(tmp_path, content):
    return [
        (mark.kind, mark.text)
        for page in read(save(tmp_path, content)).pages
        for mark in page.added_marks
    ]


@pytest.mark.parametrize("words", STAMPS)
@pytest.mark.parametrize("form", [StampForm.TEXT, StampForm.ANNOTATION])
@pytest.mark.parametrize("watermark", [False, True])
def test_a_stamp_of_any_look_is_found(tmp_path, words, form, watermark):
    stamp = replace(choose_stamp(words, "look", watermark=watermark), form=form)
    assert added(tmp_path, add_stamp(make_pdf(), stamp)) == [(STAMPS[words], words)]


@pytest.mark.parametrize("form", DRAWN_FORMS)
def test_a_stamp_that_is_drawn_without_text_is_found(tmp_path, form):
    words = list(STAMPS)[DRAWN_FORMS.index(form) % len(STAMPS)]
    content = add_stamp(make_pdf(), choose_drawn_stamp(words, "drawn", form=form))
    assert added(tmp_path, content) == [(STAMPS[words], words)]


@pytest.mark.slow
@pytest.mark.parametrize("words", STAMPS)
@pytest.mark.parametrize("form", DRAWN_FORMS)
def test_each_stamp_is_found_in_each_form(tmp_path, form, words):
    content = add_stamp(make_pdf(), choose_drawn_stamp(words, "each", form=form))
    assert added(tmp_path, content) == [(STAMPS[words], words)]


def test_a_watermark_below_the_print_is_found_on_each_page(tmp_path):
    stamp = Stamp("DRAFT", size=90, degrees=45, form=StampForm.OUTLINES, opacity=0.3, below=True)
    content = make_pdf(pages=2)
    for page in (1, 2):
        content = add_stamp(content, stamp, page=page)
    boxes = [mark.box for page in read(save(tmp_path, content)).pages for mark in page.added_marks]
    assert len(boxes) == 2
    assert all(box.left < 306 < box.right and box.top < 396 < box.bottom for box in boxes)


def test_drawn_letters_that_are_no_stamp_are_no_mark(tmp_path):
    logo = Stamp("MERCY", size=30, form=StampForm.OUTLINES, place=(0.5, 0.9))
    slogan = Stamp("HOPE", size=60, degrees=30, form=StampForm.IMAGE)
    content = add_stamp(add_stamp(make_pdf(), logo), slogan)
    assert added(tmp_path, content) == []


def test_the_print_of_a_page_stays_after_the_search_for_stamps(tmp_path):
    stamp = Stamp("VOID", size=60, degrees=20, form=StampForm.SOFT_MASK)
    plain, stamped = (
        read(save(tmp_path, content)).pages[0]
        for content in (make_pdf(signed=True), add_stamp(make_pdf(signed=True), stamp))
    )
    assert stamped.words == plain.words
    assert any(mark.intersects(plain.marks[0]) for mark in stamped.marks)


def test_the_box_of_a_stamp_surrounds_it(tmp_path):
    stamp = Stamp("VOID", size=40, degrees=30, place=(0.5, 0.25))
    (mark,) = read(save(tmp_path, add_stamp(make_pdf(), stamp))).pages[0].added_marks
    assert mark.box.left < 306 < mark.box.right
    assert mark.box.top < 594 < mark.box.bottom
    assert mark.box.right - mark.box.left < 150


@pytest.mark.parametrize("degrees", [0.0, 90.0, 20.0])
def test_a_stamp_across_lines_of_print_is_found(tmp_path, degrees):
    content = make_pdf(lines=[f"Line {number}: this draft is in print" for number in range(20)])
    stamp = Stamp("DRAFT", size=60, degrees=degrees)
    assert added(tmp_path, add_stamp(content, stamp)) == [(AddedMarkKind.DRAFT, "DRAFT")]


def test_a_small_coloured_stamp_is_found(tmp_path):
    stamp = Stamp("RECEIVED 3 MAY 2026", size=11, place=(0.6, 0.5))
    marks = added(tmp_path, add_stamp(make_pdf(), stamp))
    assert marks == [(AddedMarkKind.RECEIVED, "RECEIVED")]


def test_draft_alone_in_a_header_is_a_mark(tmp_path):
    assert added(tmp_path, make_pdf(lines=["DRAFT", "Clinical study protocol"])) == [
        (AddedMarkKind.DRAFT, "DRAFT")
    ]


def test_the_same_words_in_running_text_are_no_marks(tmp_path):
    assert added(tmp_path, make_pdf(lines=SENTENCES)) == []


@pytest.mark.parametrize("document_type", ["form-fda-1572", "irb-approval", "delegation-log"])
def test_a_plain_document_has_no_marks(tmp_path, document_type):
    assert added(tmp_path, make_sample(document_type, today=date(2026, 11, 1))) == []


def test_a_line_through_words_strikes_them_out(tmp_path):
    content = strike_out(make_pdf(), "12 August 2024")
    assert added(tmp_path, content) == [(AddedMarkKind.STRUCK_OUT, "12 August 2024")]


def test_a_line_under_words_strikes_nothing_out(tmp_path):
    assert added(tmp_path, make_pdf(signed=True)) == []


def test_words_under_a_sticker_are_covered(tmp_path):
    content = cover_words(make_pdf(), "Site number 1001", new_text="Site number 1007")
    (mark,) = read(save(tmp_path, content)).pages[0].added_marks
    assert mark.kind is AddedMarkKind.COVERED
    assert mark.box.top < 138 < mark.box.bottom


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("D R A F T", "DRAFT"),
        ("DRAFT - NOT FOR USE", "DRAFT"),
        ("TRUE COPY", "COPY"),
        ("Superseded 3 Mar 2026", "SUPERSEDED"),
        ("No longer valid", "NO LONGER VALID"),
        ("Draft protocol", None),
        ("Sample size", None),
        ("void where prohibited", None),
        ("2026", None),
    ],
)
def test_a_stamp_contains_hardly_more_than_its_phrase(line, phrase):
    stamp = read_stamp_line(line)
    assert (stamp.phrase if stamp else None) == phrase


def test_only_a_text_with_a_phrase_is_searched():
    assert may_contain_stamp("Page 1\nVOID")
    assert not may_contain_stamp("The board avoids a copy.")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "stamp",
    [
        Stamp("DRAFT", size=100, degrees=45, colour=(0.8, 0.8, 0.8)),
        Stamp("VOID", size=40, degrees=20, place=(0.5, 0.3)),
        Stamp("SUPERSEDED", size=43, degrees=12, boxed=True, place=(0.5, 0.35)),
    ],
    ids=lambda stamp: stamp.words,
)
def test_a_stamp_on_a_scan_is_found_at_an_angle(tmp_path, stamp):
    content = make_scan(add_stamp(make_pdf(), stamp), seed=stamp.words)
    (mark,) = read(save(tmp_path, content)).pages[0].added_marks
    assert (mark.kind, mark.text) == (STAMPS[stamp.words], stamp.words)
    x, y = stamp.place[0] * 612, (1 - stamp.place[1]) * 792
    assert mark.box.left < x < mark.box.right
    assert mark.box.top < y < mark.box.bottom


@pytest.mark.slow  # the fast tests have one in ocr/test_stamped_print.py
@pytest.mark.parametrize("scanner", [Scanner.OFFICE_COLOUR, Scanner.PHONE])
@pytest.mark.parametrize(
    "stamp",
    [
        RubberStamp(lines=("VOID",), phrase="VOID", degrees=-28, frame=Frame.DOUBLE, wear=0.3),
        RubberStamp(
            lines=("IRB OFFICE", "RECEIVED", "3 MAY 2026"),
            phrase="RECEIVED",
            size=18,
            degrees=12,
            colour=INK_COLOURS[1],
            frame=Frame.ROUND,
            wear=0.2,
            place=(0.4, 0.85),
        ),
    ],
    ids=lambda stamp: stamp.phrase,
)
def test_a_coloured_rubber_stamp_is_found_over_print(tmp_path, scanner, stamp):
    page, (left, bottom, right, top) = press_stamp(print_pages(make_pdf(signed=True))[0], stamp)
    reading = read(save(tmp_path, scan_pages([page], scanner, seed="coloured")))
    (mark,) = reading.pages[0].added_marks
    assert (mark.kind, mark.text) == (STAMPS[stamp.phrase], stamp.phrase)
    assert left < (mark.box.left + mark.box.right) / 2 < right
    assert bottom < 792 - (mark.box.top + mark.box.bottom) / 2 < top


@pytest.mark.slow
def test_a_coloured_stamp_is_found_on_a_page_that_was_scanned_upside_down(tmp_path):
    stamp = RubberStamp(lines=("OBSOLETE",), phrase="OBSOLETE", degrees=20, place=(0.3, 0.4))
    lines = [f"{number}. I agree to conduct this study as described." for number in range(20)]
    page, _ = press_stamp(print_pages(make_pdf(lines=lines))[0], stamp)
    content = scan_pages([page[::-1, ::-1]], Scanner.OFFICE_COLOUR, seed="upside down")
    (mark,) = read(save(tmp_path, content)).pages[0].added_marks
    assert (mark.kind, mark.text) == (AddedMarkKind.SUPERSEDED, "OBSOLETE")
    assert mark.box.left < 0.3 * 612 < mark.box.right
    assert mark.box.top < 0.6 * 792 < mark.box.bottom


@pytest.mark.slow
def test_coloured_words_that_are_no_words_of_stamps_are_no_mark(tmp_path):
    page = print_pages(make_pdf(signed=True))[0]
    for words, degrees, place in (("APPROVED", 15, (0.5, 0.4)), ("MERCY", -20, (0.5, 0.6))):
        stamp = RubberStamp(
            lines=(words,), phrase=words, degrees=degrees, place=place, frame=Frame.RECTANGLE
        )
        page, _ = press_stamp(page, stamp)
    content = scan_pages([page], Scanner.OFFICE_COLOUR, seed="no stamp")
    assert read(save(tmp_path, content)).pages[0].added_marks == []


def test_dust_is_no_stamp():
    ink = np.zeros((600, 600), np.uint8)
    ink[::25, ::25] = 1  # dust
    upright = turn_upright(ink)
    assert upright is None or not upright.may_be_stamp(is_over_print=True)


@pytest.mark.parametrize(("lines", "is_possible"), [(3, True), (12, False)])
def test_only_a_few_lines_of_letters_can_be_a_stamp(lines, is_possible):
    ink = np.zeros((600, 800), np.uint8)
    for line in range(lines):
        for column in range(3):
            ink[20 + 45 * line : 50 + 45 * line, 20 + 250 * column : 200 + 250 * column] = 1
    upright = turn_upright(ink)
    assert upright.letters == 3 * lines
    assert upright.may_be_stamp(is_over_print=True) == is_possible


@pytest.mark.parametrize(("height", "is_possible"), [(50, True), (36, False)])
def test_a_line_with_small_letters_is_no_stamp(height, is_possible):
    ink = np.zeros((90, 460), np.uint8)
    for number in range(8):
        own = height if number % 2 else 50
        ink[70 - own : 70, 20 + 55 * number : 60 + 55 * number] = 1
    upright = turn_upright(ink)
    assert upright.letters == 8
    assert upright.may_be_stamp(is_over_print=True) == is_possible


def draw_words(words, *, overlap=0):
    """Return the ink of words in large letters, of which R and A touch each other by `overlap`."""
    image, font, left = Image.new("L", (2_000, 120)), ImageFont.load_default(80), 20.0
    for before, letter in pairwise(" " + words):
        left -= overlap if before + letter == "RA" else 0
        ImageDraw.Draw(image).text((left, 10), letter, fill=255, font=font)
        left += font.getlength(letter) + 4
    return np.asarray(np.asarray(image) > 127, np.uint8)


@pytest.mark.parametrize(
    ("words", "overlap", "may_be_word"),
    [
        ("VOID", 0, True),
        ("CERTIFIED TRUE COPY", 0, True),
        ("DRAFT", 0, True),
        ("DRAFT", 8, True),
        ("UNIVERSITY OF CAPE COAST", 0, False),  # A is where "COPY" has O
        ("NAGA CITY", 0, False),
        ("VOTE", 0, False),
    ],
)
def test_a_word_of_stamps_is_told_from_others_by_the_holes_of_its_letters(
    words, overlap, may_be_word
):
    upright = turn_upright(draw_words(words, overlap=overlap))
    joined = 1 if overlap else 0
    assert upright.letters == len(words.replace(" ", "")) - joined
    assert upright.has_word_of_stamp == may_be_word


@pytest.mark.parametrize(("first_word", "second_word"), [("MERCY", None), ("ME", "DRAFT")])
def test_an_image_whose_letters_were_read_with_certainty_is_read_once(first_word, second_word):
    texts = iter([first_word, "DRAFT"])

    class TwoModes:
        version = "test"

        def recognise(self, *_):
            return [OcrWord(next(texts), 96.0, 0, 0, 100, 36, (1, 1, 1))]

    modes = (SegmentationMode.SINGLE_COLUMN, SegmentationMode.SINGLE_BLOCK)
    image = np.zeros((90, 200), np.uint8)
    stamp = read_stamp_image(image, 300, TwoModes(), 1.0, modes, letters=5)
    assert (stamp and stamp.phrase) == second_word


def test_a_signed_scan_without_stamps_has_no_marks(tmp_path):
    content = make_scan(make_pdf(signed=True), seed="plain")
    assert added(tmp_path, content) == []
