"""Marks are looked for where somebody asks, and come to the same as all of them."""

import pickle
from datetime import date

import pytest

from ingestion.reading import tasks
from ingestion.reading.merge import merge
from ingestion.reading.pdf.lazy import (
    LazyMarks,
    LazyReadError,
    evaluate,
    marks_near,
)
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Unreadable,
)
from ingestion.rules.checks.verdict import Sent, SiteFacts, check_whatever
from ingestion.rules.document_types import TYPES
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import sample_site
from samples.renditions import Rendition
from tests.ingestion.reading.documents import LIMITS, save, typed

TODAY = date(2026, 11, 20)
HIGH, LOW = Box(50, 100, 150, 140), Box(50, 600, 150, 640)
LOGO, SIGNED = Box(60, 105, 140, 135), Box(60, 605, 140, 635)
FAULTS = [fault for fault in DocumentFault if fault is not DocumentFault.EXPIRED]
CASES = [(slug, Rendition.BORN_DIGITAL, fault) for slug in PAGES for fault in (None, *FAULTS)]
CASES += [(slug, Rendition.FILLABLE_FORM, None) for slug in sorted(FILLABLE)]
CASES += [(slug, Rendition.BORN_DIGITAL, DocumentFault.EXPIRED) for slug in sorted(EXPIRING)]


def a_page(looked_at):
    """With ink in two areas; notes where it is looked for."""

    def look(area):
        looked_at.append(area)
        return [{HIGH: LOGO, LOW: SIGNED}[area]]

    return PageReading(
        1, 612, 792, "", TextSource.NATIVE, marks=LazyMarks(lambda: [LOW, HIGH], look)
    )


def test_only_the_areas_near_the_place_are_looked_at_and_each_once():
    looked_at = []
    page = a_page(looked_at)
    assert marks_near(page, Box(0, 590, 300, 700)) == [SIGNED]
    assert marks_near(page, Box(0, 620, 300, 700)) == [SIGNED]
    assert marks_near(page, Box(0, 300, 300, 400)) == []
    assert looked_at == [LOW]


def test_counted_listed_or_compared_they_are_all_looked_for_from_the_top_down():
    assert len(a_page([]).marks) == 2
    assert list(a_page([]).marks) == [LOGO, SIGNED]
    assert a_page([]).marks == (LOGO, SIGNED)
    assert a_page([]).marks == a_page([]).marks
    assert a_page([]).marks[:1] == (LOGO,)


def test_only_settled_marks_travel():
    page = a_page([])
    with pytest.raises(TypeError, match="settled"):
        pickle.dumps(page)
    assert pickle.loads(pickle.dumps(evaluate(page))).marks == (LOGO, SIGNED)  # noqa: S301


def marks_of(reading):
    return tuple(reading.pages[0].marks)


def looked_at(reading):
    """Whether the marks of its first page are there without another look."""
    return not isinstance(reading.pages[0].marks, LazyMarks)


def test_what_is_concluded_in_the_child_may_ask_for_marks(tmp_path):
    path, rewritten = save(tmp_path, typed(signed=True)), tmp_path / "rewritten.pdf"
    concluded = tasks.probe_and_conclude(marks_of, path, rewritten, LIMITS)
    assert concluded.result == tasks.probe_document(path, rewritten, LIMITS).pages[0].marks != ()
    assert not tasks.probe_and_conclude(looked_at, path, rewritten, LIMITS).result


def test_marks_of_a_long_document_are_found_on_pages_that_were_left_and_loaded_again(tmp_path):
    path = save(tmp_path, typed(signed=True, pages=20))
    look = tasks.probe_document(path, tmp_path / "rewritten.pdf", LIMITS)
    assert [len(page.marks) for page in look.pages] == [1] * 20


def errors_of(reading):
    marks = [tuple(page.marks) for page in reading.pages]
    return [page.error for page in reading.pages], marks


def test_a_page_whose_marks_cannot_be_looked_for_cannot_be_read(tmp_path, monkeypatch):
    path = save(tmp_path, typed(signed=True, pages=3))

    def fails_on_the_second(pages, number, *args, **kwargs):
        def areas():
            if number == 2:
                raise LazyReadError(number, "torn")
            return []

        return LazyMarks(areas, lambda _: [])

    monkeypatch.setattr("ingestion.reading.pdf.page_probe.lazy_marks", fails_on_the_second)
    concluded = tasks.probe_and_conclude(errors_of, path, tmp_path / "rewritten.pdf", LIMITS)
    assert concluded.result == (["", "torn", ""], [(), (), ()])
    look = tasks.probe_document(path, tmp_path / "rewritten.pdf", LIMITS)
    assert [page.error for page in look.pages] == ["", "torn", ""]


def verdicts(seen):
    """As each type that it may be declared to be."""
    sent_by = SiteFacts("1001", sample_site("1001").study.protocol_number)
    return [
        check_whatever(seen, Sent("v2.1", slug), site=sent_by, today=TODAY) for slug in ("", *TYPES)
    ]


@pytest.mark.parametrize(("slug", "rendition", "fault"), CASES)
def test_the_verdict_on_asked_for_marks_is_the_verdict_on_all_of_them(
    slug, rendition, fault, tmp_path
):
    content = make_sample(
        slug, today=TODAY, site=sample_site("1001"), rendition=rendition, fault=fault
    )
    path, rewritten = save(tmp_path, content), tmp_path / "rewritten.pdf"
    look = tasks.probe_document(path, rewritten, LIMITS)
    concluded = tasks.probe_and_conclude(verdicts, path, rewritten, LIMITS)
    if isinstance(concluded, tasks.Conclusion):
        assert concluded.result == verdicts(
            look if isinstance(look, Unreadable) else merge(look, [])
        )
    else:
        assert concluded == look  # a page needs OCR: all its marks travel
