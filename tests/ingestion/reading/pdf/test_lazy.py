"""Lazy marks: they are searched where they are needed, with the same result."""

import pickle
from datetime import date
from functools import partial

import pytest

from ingestion.reading import tasks
from ingestion.reading.merge import merge_pages
from ingestion.reading.pdf.lazy import (
    LazyMarks,
    LazyReadError,
    evaluate,
    iter_marks_near,
    list_squares_near,
)
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Unreadable,
)
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check_or_reject
from ingestion.rules.document_types import TYPES
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.layouts import make_specimen
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition
from tests.ingestion.reading.documents import LIMITS, make_pdf, save

TODAY = date(2026, 11, 20)
UPPER_AREA, LOWER_AREA = Box(50, 100, 150, 140), Box(50, 600, 150, 640)
LOGO, SIGNED = Box(60, 105, 140, 135), Box(60, 605, 140, 635)
FAULTS = [fault for fault in DocumentFault if fault is not DocumentFault.EXPIRED]
CASES = [(slug, Rendition.BORN_DIGITAL, None) for slug in PAGES]
CASES += [(slug, Rendition.FILLABLE_FORM, None) for slug in sorted(FILLABLE)]
CASES += [
    pytest.param(slug, Rendition.BORN_DIGITAL, fault, marks=pytest.mark.slow)
    for slug in PAGES
    for fault in FAULTS
]
CASES += [(slug, Rendition.BORN_DIGITAL, DocumentFault.EXPIRED) for slug in sorted(EXPIRING)]


def make_page(searched):
    """Return a page with ink in two areas, which records the areas that are searched."""

    def search(area):
        searched.append(area)
        return [{UPPER_AREA: LOGO, LOWER_AREA: SIGNED}[area]]

    return PageReading(
        1,
        612,
        792,
        "",
        TextSource.NATIVE,
        marks=LazyMarks(lambda: [LOWER_AREA, UPPER_AREA], search),
    )


def test_only_areas_near_the_place_are_searched_and_each_once():
    searched = []
    page = make_page(searched)
    assert list(iter_marks_near(page, Box(0, 590, 300, 700))) == [SIGNED]
    assert list(iter_marks_near(page, Box(0, 620, 300, 700))) == [SIGNED]
    assert list(iter_marks_near(page, Box(0, 300, 300, 400))) == []
    assert searched == [LOWER_AREA]


def test_all_marks_are_searched_when_they_are_counted_listed_or_compared():
    assert len(make_page([]).marks) == 2
    assert list(make_page([]).marks) == [LOGO, SIGNED]
    assert make_page([]).marks == (LOGO, SIGNED)
    assert make_page([]).marks == make_page([]).marks
    assert make_page([]).marks[:1] == (LOGO,)


def test_the_check_boxes_near_a_place_are_those_of_the_whole_page(tmp_path):
    path = tmp_path / "form.pdf"
    path.write_bytes(make_specimen("form-fda-1572", "standard", 0).content)

    def compare(reading):
        for page in reading.pages:
            assert page.empty_squares
            for left, top, right, bottom in page.empty_squares:
                place = Box(left - 5, top - 3, right + 20, bottom + 3)
                near, all_ = (
                    [each for each in squares if place.contains_centre_of(each)]
                    for squares in (list_squares_near(page, place), page.empty_squares)
                )
                assert near == all_
        return True

    outcome = tasks.probe_and_conclude(compare, path, tmp_path / "rewritten.pdf", LIMITS)
    assert outcome.result


def test_only_evaluated_marks_can_be_pickled():
    page = make_page([])
    with pytest.raises(TypeError, match="evaluate"):
        pickle.dumps(page)
    assert pickle.loads(pickle.dumps(evaluate(page))).marks == (LOGO, SIGNED)  # noqa: S301


def marks_of(reading):
    return tuple(reading.pages[0].marks)


def has_evaluated_marks(reading):
    """Return whether the marks of the first page are evaluated."""
    return not isinstance(reading.pages[0].marks, LazyMarks)


def test_the_conclusion_in_the_parser_process_can_search_marks(tmp_path):
    path, rewritten = save(tmp_path, make_pdf(signed=True)), tmp_path / "rewritten.pdf"
    conclusion = tasks.probe_and_conclude(marks_of, path, rewritten, LIMITS)
    assert conclusion.result == tasks.probe_document(path, rewritten, LIMITS).pages[0].marks != ()
    assert not tasks.probe_and_conclude(has_evaluated_marks, path, rewritten, LIMITS).result


def test_marks_are_found_on_pages_that_were_unloaded_and_loaded_again(tmp_path):
    path = save(tmp_path, make_pdf(signed=True, pages=20))
    probe = tasks.probe_document(path, tmp_path / "rewritten.pdf", LIMITS)
    assert [len(page.marks) for page in probe.pages] == [1] * 20


def errors_of(reading):
    marks = [tuple(page.marks) for page in reading.pages]
    return [page.error for page in reading.pages], marks


def test_a_page_whose_marks_cannot_be_searched_is_unreadable(tmp_path, monkeypatch):
    path = save(tmp_path, make_pdf(signed=True, pages=3))

    def fails_on_the_second(pages, number, *args, **kwargs):
        def areas():
            if number == 2:
                raise LazyReadError(number, "torn")
            return []

        return LazyMarks(areas, lambda _: [])

    monkeypatch.setattr("ingestion.reading.pdf.page_probe.lazy_marks", fails_on_the_second)
    conclusion = tasks.probe_and_conclude(errors_of, path, tmp_path / "rewritten.pdf", LIMITS)
    assert conclusion.result == (["", "torn", ""], [(), (), ()])
    probe = tasks.probe_document(path, tmp_path / "rewritten.pdf", LIMITS)
    assert [page.error for page in probe.pages] == ["", "torn", ""]


def verdicts(seen, slug):
    """Return the verdicts on a document with no declared type, its own type, and another one."""
    sent_by = SiteFacts("1001", get_sample_site("1001").study.protocol_number)
    other = next(each for each in TYPES if each != slug)
    return [
        check_or_reject(seen, SenderFacts("v2.1", declared), site=sent_by, today=TODAY)
        for declared in ("", slug, other)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("slug", "rendition", "fault"), CASES)
def test_the_verdict_is_the_same_with_lazy_and_with_evaluated_marks(
    slug, rendition, fault, tmp_path
):
    content = make_sample(
        slug, today=TODAY, site=get_sample_site("1001"), rendition=rendition, fault=fault
    )
    path, rewritten = save(tmp_path, content), tmp_path / "rewritten.pdf"
    probe = tasks.probe_document(path, rewritten, LIMITS)
    conclude = partial(verdicts, slug=slug)
    conclusion = tasks.probe_and_conclude(conclude, path, rewritten, LIMITS)
    if isinstance(conclusion, tasks.Conclusion):
        assert conclusion.result == conclude(
            probe if isinstance(probe, Unreadable) else merge_pages(probe, [])
        )
    else:
        assert conclusion == probe  # a page needs OCR, so all marks are evaluated
