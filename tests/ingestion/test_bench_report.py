"""What `python -m bench` relies on: a ratio is ours of the baseline, and a bar missed is seen."""

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bench import __main__ as report_of_all
from bench import charts, flow
from bench.outcome import Outcome
from bench.report import Found, Row, beside, not_measured, program, tell
from bench.turns import beside_the_smallest

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


@pytest.mark.parametrize(("minimum", "maximum", "met"), [(2.5, None, False), (None, 2.5, True)])
def test_what_is_expected_is_expected_of_the_ratio(minimum, maximum, met):
    row = beside("speed", "a/s", [100.0], "theirs", [50.0], least=minimum, most=maximum)
    assert row.met is met
    assert ("**2.00**" in str(row)) is not met


def test_without_rounds_it_is_expected_of_ours():
    row = Row(what="lost", ours=1, against="theirs", baseline=20, most=0)
    assert row.met is False
    assert row.ratio == 0.05
    assert "**1**" in str(row)


def test_it_is_expected_of_ours_where_that_is_said_though_there_are_rounds():
    row = beside("waited", "s", [0.1, 0.3, 0.2], "theirs", [1.0, 1.0, 0.0], most=0.1, of_ours=True)
    assert row.met is False
    line = "| **0.2 s** | 1 s (theirs) | 0.20 (0.10 to 0.30) | 3 | at most 0.1: **missed** |"
    assert line in str(row)


def test_a_figure_without_a_baseline_is_refused():
    with pytest.raises(ValueError, match="speed: a figure without a baseline"):
        Row(what="speed", ours=3.0)


def test_a_baseline_of_nothing_gives_no_ratio():
    row = Row(what="lost", ours=0, against="theirs", baseline=0, most=0)
    assert row.ratio is None
    assert row.met is True


def test_what_is_absent_is_said_and_missed_by_nobody():
    row = not_measured("OCR", "OCRmyPDF is not installed")
    assert row.met is None
    assert "not measured" in str(row)
    assert "OCRmyPDF is not installed" in str(row)


def grown(sizes, *seconds):
    """Runs that take these seconds, one after the other."""
    taken = iter(seconds)
    made = beside_the_smallest(sizes, lambda _: {"append": next(taken)})
    assert next(taken, None) is None
    return list(made.rows("entries", "us"))


def test_each_larger_case_stands_beside_the_smallest_before_and_after_it():
    small, middle, large = grown((10, 100, 1000), 20.0, 30.0, 40.0, 80.0, 60.0)
    assert (small.at, small.ratios) == (10, [2.0, 1.5])
    assert (middle.at, middle.ratios) == (100, [1.0])
    assert (large.at, large.ratios) == (1000, [1.6])
    assert "entries: append, 1,000 | 80 us | 50 us (10) | 1.60 | 1 |" in str(large)


def test_a_machine_that_slows_down_does_not_pass_for_growth():
    _, *larger = grown((10, 100, 1000), 1.0, 2.0, 3.0, 4.0, 5.0)
    assert [row.ratio for row in larger] == [1.0, 1.0]


def test_what_was_found_outlives_the_process(tmp_path):
    kept = found(beside("speed", "a/s", [2.0], "theirs", [1.0], least=1), not_measured("b", "why"))
    kept.write(tmp_path / "ledger.json")
    restored = Found.read(tmp_path / "ledger.json")
    assert str(restored) == str(kept)
    assert restored.rows[0].met is True


def test_the_page_names_what_was_not_measured_and_shows_its_charts(tmp_path):
    rows = grown((10, 100), 20.0, 30.0, 20.0)
    ratio = beside("speed & more", "a/s", [2.0], "theirs", [1.0])
    report_of_all.write_page([found(ratio), found(*rows, name="growth")], tmp_path)
    page = (tmp_path / "index.md").read_text()
    assert "Not measured: The flow" in page
    assert "- [How cost grows](#how-cost-grows-benchgrowthpy)" in page
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


def test_what_failed_says_so_and_is_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr(report_of_all, "KEPT", tmp_path)
    kept = replace(found(not_measured("b", "why")), failed="TimeoutError")
    kept.write(tmp_path / "ledger.json")
    assert "It failed after these rows: TimeoutError" in str(kept)
    assert not report_of_all.is_kept("ledger", is_quick=True)


def test_a_bench_that_fails_keeps_what_it_has_found(tmp_path, monkeypatch):
    def measure(_asked):
        yield not_measured("a", "why")
        raise TimeoutError

    monkeypatch.setattr("sys.argv", ["bench", "--json", str(tmp_path / "ledger.json")])
    with pytest.raises(TimeoutError):
        tell(measure, program(""))
    kept = Found.read(tmp_path / "ledger.json")
    assert ([row.what for row in kept.rows], kept.failed) == (["a"], "TimeoutError")


def test_a_dot_that_missed_its_bar_is_drawn_apart():
    good = charts.ratios("t", [beside("a", "", [2.0], "b", [1.0], least=1)])
    bad = charts.ratios("t", [beside("a", "", [2.0], "b", [1.0], least=3)])
    assert "<circle" in good
    assert "<rect" in bad


def test_names_of_curves_that_end_together_do_not_cover_each_other():
    flat = grown((1, 10), 1.0, 1.0, 1.0)
    lines = dict.fromkeys("abcd", flat)
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
    assert "do not rely" in str(found(before=100_000.0))
    assert "do not rely" not in str(found(before=0.0))
