import io

import pikepdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.pdf.text_layer import clean_text, measure_unreadable_share
from ingestion.reading.results import TextSource
from ingestion.reading.routing import PageFacts, Route, choose_route
from tests.ingestion.reading.documents import (
    LABEL,
    LINES,
    add_script,
    make_form,
    make_pdf,
    read,
    rewrite,
    save,
)

VALUES = {"investigator": "Margaret Whitfield", "phone": "614 555 0101"}


def word(page, text):
    return next(each for each in page.words if each.text == text)


def test_a_born_digital_page_is_read_line_by_line(tmp_path):
    page = read(save(tmp_path, make_pdf())).pages[0]
    assert page.text.splitlines() == [*LINES, "Signature of Investigator"]
    assert (page.source, page.confidence, page.dpi) == (TextSource.NATIVE, 100.0, 0)


def test_a_word_has_the_box_where_it_was_drawn(tmp_path):
    box = word(read(save(tmp_path, make_pdf())).pages[0], "Signature").box
    left, baseline = LABEL[0], 792 - LABEL[1]
    assert box.left == pytest.approx(left, abs=1)
    assert box.top < baseline <= box.bottom < baseline + 4
    assert 45 < box.right - box.left < 60


SENTENCE = "Our questions have been answered by the researchers of Northfield University today "


def draw_in_pieces(sentence, *, gap, inside=True):
    """Return a PDF of a sentence, with a gap in points after each second letter of its words.

    So a font is drawn whose widths are wrong. Without `inside`, the gaps are between the words, and
    the file has no spaces.
    """
    output = io.BytesIO()
    page = Canvas(output, pagesize=(612, 792))
    page.setFont("Helvetica", 11)
    for line in range(6):
        left = 60.0
        for word in sentence.split():
            cut = [word[at : at + 2] for at in range(0, len(word), 2)] if inside else [word]
            *pieces, last = cut
            for piece in (*pieces, f"{last} " if inside else last):
                page.drawString(left, 700 - 20 * line, piece)
                left += page.stringWidth(piece) + (gap if piece in pieces or not inside else 0)
    page.save()
    return output.getvalue()


def test_a_font_with_wrong_widths_does_not_divide_words(tmp_path):
    page = read(save(tmp_path, draw_in_pieces(SENTENCE, gap=2.5))).pages[0]
    assert page.text.splitlines()[0].strip() == SENTENCE.strip()
    assert [each.text for each in page.words][: len(SENTENCE.split())] == SENTENCE.split()


def test_short_words_without_spaces_in_the_file_stay_words(tmp_path):
    words = "we do as it is to be on my or by an if so he"
    page = read(save(tmp_path, draw_in_pieces(words, gap=3.0, inside=False))).pages[0]
    assert page.text.splitlines()[0] == words


TILDE_HAS_NO_MEANING = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /X def /CMapType 2 def 1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfchar <7E> <0000> endbfchar endcmap end end"""


def test_a_glyph_without_a_meaning_is_no_word(tmp_path):
    content = make_pdf(lines=("Role: ~ Sub-Investigator ~ Principal Investigator",))
    with pikepdf.open(io.BytesIO(content)) as pdf:
        for font in pdf.pages[0].Resources.Font.values():
            font.ToUnicode = pdf.make_stream(TILDE_HAS_NO_MEANING)
        pdf.save(tmp_path / "paper.pdf")
    page = read(tmp_path / "paper.pdf").pages[0]
    texts = [each.text for each in page.words]
    assert texts[:4] == ["Role:", "Sub-Investigator", "Principal", "Investigator"]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_boxes_are_those_of_the_rotated_page(tmp_path, turn):
    def rotate(document: pikepdf.Pdf) -> None:
        document.pages[0].rotate(turn, relative=False)

    page = read(save(tmp_path, rewrite(make_pdf(), rotate))).pages[0]
    box = word(page, "INVESTIGATOR").box
    middle = (box.left + box.right) / 2 / page.width, (box.top + box.bottom) / 2 / page.height
    corner = {90: (1, 0), 180: (1, 1), 270: (0, 1)}[turn]  # where the top left corner went
    assert (round(middle[0]), round(middle[1])) == corner


def test_boxes_of_a_cropped_page_start_at_its_crop_box(tmp_path):
    def crop(document: pikepdf.Pdf) -> None:
        document.pages[0].obj.CropBox = [50, 100, 562, 742]

    page = read(save(tmp_path, rewrite(make_pdf(), crop))).pages[0]
    assert (page.width, page.height) == (512, 642)
    assert word(page, "Signature").box.left == pytest.approx(LABEL[0] - 50, abs=1)


@pytest.mark.parametrize("appearances", [True, False], ids=["drawn", "not drawn"])
def test_form_values_are_in_the_text_and_in_the_fields(tmp_path, appearances):
    reading = read(save(tmp_path, make_form(VALUES, appearances=appearances)))
    assert all(value in reading.text for value in VALUES.values())
    assert reading.fields == VALUES
    assert reading.pages[0].source is TextSource.FORM
    assert word(reading.pages[0], "Whitfield").box.top == pytest.approx(82, abs=12)


def test_a_form_without_values_is_a_native_page(tmp_path):
    reading = read(save(tmp_path, make_form({"investigator": ""}, appearances=True)))
    assert reading.pages[0].source is TextSource.NATIVE
    assert reading.fields == {}


def test_a_script_is_flagged(tmp_path):
    assert read(save(tmp_path, add_script(make_pdf()))).flags == {"javascript"}
    assert read(save(tmp_path, make_pdf())).flags == frozenset()


@pytest.mark.parametrize(
    ("facts", "way"),
    [
        (PageFacts(2000, 0.0, 0.0, hidden_text=False), Route.TEXT),
        (PageFacts(2000, 0.2, 0.0, hidden_text=False), Route.OCR),
        (PageFacts(2000, 0.0, 1.0, hidden_text=True), Route.OCR_LAYER),
        (PageFacts(101, 0.0, 0.9, hidden_text=False), Route.OCR_AND_TEXT),
        (PageFacts(10, 0.0, 0.1, hidden_text=False), Route.OCR_AND_TEXT),
        (PageFacts(10, 0.0, 0.0, hidden_text=False), Route.TEXT),
        (PageFacts(0, 0.0, 0.0, hidden_text=False), Route.OCR),
    ],
)
def test_the_route_of_a_page_follows_from_its_facts(facts, way):
    assert choose_route(facts) is way


@given(st.integers(0, 400), st.floats(0, 1), st.booleans())
def test_a_page_covered_by_an_image_is_not_read_by_its_short_text_alone(characters, share, hidden):
    facts = PageFacts(characters, share, 0.9, hidden_text=hidden and characters < 32)
    assert choose_route(facts) is not Route.TEXT or characters >= 400


@given(st.text())
def test_cleaned_text_can_be_stored(raw):
    text = clean_text(raw)
    text.encode()
    assert "\0" not in text
    assert "\r" not in text


def test_characters_without_a_meaning_are_counted():
    assert measure_unreadable_share("") == 0
    assert measure_unreadable_share("Good\nClinical\tPractice") == 0
    assert measure_unreadable_share("\ue001\ue002ab") == 0.5


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("parƟcipaƟon", "participation"),
        ("Ɵme", "time"),
        ("aƩached", "attached"),
        ("conﬁdential", "confidential"),
        ("oﬃce", "office"),
        ("Ɵ Ʃ", "Ɵ Ʃ"),
    ],
)
def test_ligatures_are_read_as_their_letters(raw, text):
    assert clean_text(raw) == text
