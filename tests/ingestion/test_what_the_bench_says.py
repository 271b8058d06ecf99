"""What `python -m bench` relies on: a ratio is ours of the baseline, and a bar missed is seen."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bench import __main__ as report_of_all
from bench import charts, flow
from bench.outcome import Outcome
from bench.report import Found, Row, beside, curve, not_measured

LABELS = "{http://www.w3.org/2000/svg}text"


def found(*rows, name="ledger", quick=True, before=0.1):
    return Found(
        bench=name,
        is_quick=quick,
        begun="2026-11-22T16:00:00+00:00",
        seconds=12.0,
        machine="2 cores",
        load=(before, 2.0),
        rows=rows,
    )


def labels_of(drawing):
    return list(ElementTree.fromstring(drawing).iter(LABELS))  # noqa: S314 - we drew it


def words_of(drawing):
    return [each.text for each in labels_of(drawing)]


def test_a_ratio_is_the_middle_of_the_rounds_own_ratios():
    row = beside("speed", "a/s", [10.0, 30.0, 8.0], "theirs", [5.0, 10.0, 8.0])
    assert row.ratios == [2.0, 3.0, 1.0]
    assert row.ratio == 2.0
    assert "2.00 (1.00 to 3.00)" in str(row)


@pytest.mark.parametrize(("least", "most", "met"), [(2.5, None, False), (None, 2.5, True)])
def test_what_is_expected_is_expected_of_the_ratio(least, most, met):
    row = beside("speed", "a/s", [100.0], "theirs", [50.0], least=least, most=most)
    assert row.met is met
    assert ("**2.00**" in str(row)) is not met


def test_without_rounds_it_is_expected_of_ours():
    row = Row(what="lost", ours=1, against="theirs", baseline=20, most=0)
    assert row.met is False
    assert row.ratio == 0.05
    assert "**1**" in str(row)


def test_a_baseline_of_nothing_gives_no_ratio():
    row = Row(what="lost", ours=0, against="theirs", baseline=0, most=0)
    assert row.ratio is None
    assert row.met is True


def test_what_is_absent_is_said_and_missed_by_nobody():
    row = not_measured("OCR", "OCRmyPDF is not installed")
    assert row.met is None
    assert "not measured" in str(row)
    assert "OCRmyPDF is not installed" in str(row)


def test_a_curve_stands_beside_its_smallest_case():
    rows = list(curve("entries: append", "us", {100: 30.0, 10: 20.0}))
    assert [(row.at, row.ratio) for row in rows] == [(10, 1.0), (100, 1.5)]
    assert "entries: append, 100" in str(rows[1])


def test_what_was_found_outlives_the_process(tmp_path):
    kept = found(beside("speed", "a/s", [2.0], "theirs", [1.0], least=1), not_measured("b", "why"))
    kept.write(tmp_path / "ledger.json")
    again = Found.read(tmp_path / "ledger.json")
    assert str(again) == str(kept)
    assert again.rows[0].met is True


def test_the_page_names_what_was_not_measured_and_shows_its_charts(tmp_path):
    rows = curve("entries: append", "us", {10: 20.0, 100: 30.0})
    ratio = beside("speed & more", "a/s", [2.0], "theirs", [1.0])
    report_of_all.write_page([found(ratio), found(*rows, name="growth")], tmp_path)
    page = (tmp_path / "index.md").read_text()
    assert "Not measured: The flow" in page
    assert "(ledger.svg)" in page
    assert "(growth-entries.svg)" in page
    assert "speed & more" in words_of((tmp_path / "ledger.svg").read_text())
    assert "append: 1.50" in words_of((tmp_path / "growth-entries.svg").read_text())


def test_a_quick_result_does_not_stand_for_a_full_one(tmp_path, monkeypatch):
    monkeypatch.setattr(report_of_all, "KEPT", tmp_path)
    assert not report_of_all.is_kept("ledger", is_quick=True)
    found(not_measured("b", "why")).write(tmp_path / "ledger.json")
    assert report_of_all.is_kept("ledger", is_quick=True)
    assert not report_of_all.is_kept("ledger", is_quick=False)


def test_a_dot_that_missed_its_bar_is_drawn_apart():
    good = charts.ratios("t", [beside("a", "", [2.0], "b", [1.0], least=1)])
    bad = charts.ratios("t", [beside("a", "", [2.0], "b", [1.0], least=3)])
    assert "<circle" in good
    assert "<rect" in bad


def test_names_of_curves_that_end_together_do_not_cover_each_other():
    lines = {name: [(1, 1.0), (10, 1.0)] for name in "abcd"}
    labels = labels_of(charts.curves("t", "entries", lines))
    heights = sorted(float(each.get("y")) for each in labels if each.text.endswith(": 1.00"))
    assert len(heights) == 4
    assert all(lower - upper >= 18 for upper, lower in pairwise(heights))


def measured(side, *, seconds, lost=0, refused=0):
    seen = Outcome(seconds=seconds, states={}, finished={}, lost=lost)
    return flow.Measured(flow.REAL, side, 100, seen, seconds, {429: refused}, 2_000_000)


def test_a_lost_document_is_not_worked_and_is_told_in_percent():
    runs = [measured(flow.PLAIN, seconds=10, lost=20, refused=7), measured(flow.OURS, seconds=5)]
    speed, lost = flow.beside_plain(runs)
    assert speed.ratio == pytest.approx(20 / 8)
    assert speed.least == 1.5
    assert "plain 7" in speed.note
    assert (lost.ours, lost.baseline, lost.met) == (0, 20, True)


def test_figures_of_a_busy_machine_warn_of_themselves():
    assert "rely on none" in str(found(before=100_000.0))
    assert "rely on none" not in str(found(before=0.0))
