"""Tests of the report of `python -m bench`: ratios, targets, stored results, page and charts."""

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bench import __main__ as report_of_all
from bench import flow
from bench.results import charts
from bench.results.outcome import RunOutcome
from bench.results.report import BenchResult, Row, compare, not_measured, program, run_benchmark
from bench.results.turns import compare_with_smallest

LABELS = "{http://www.w3.org/2000/svg}text"


def make_result(*rows, name="ledger", quick=True, load_before=0.1):
    return BenchResult(
        bench=name,
        is_quick=quick,
        begun="2026-11-22T16:00:00+00:00",
        seconds=12.0,
        machine="2 cores",
        load=(load_before, 2.0),
        rows=rows,
    )


def labels_of(drawing):
    return list(ElementTree.fromstring(drawing).iter(LABELS))  # noqa: S314 - it is our own drawing


def label_texts_of(drawing):
    return [each.text for each in labels_of(drawing)]


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds():
    row = compare("speed", "a/s", [10.0, 30.0, 8.0], "theirs", [5.0, 10.0, 8.0])
    assert row.ratios == [2.0, 3.0, 1.0]
    assert row.ratio == 2.0
    assert "2.00 (1.00 to 3.00)" in str(row)


@pytest.mark.parametrize(("minimum", "maximum", "met"), [(2.5, None, False), (None, 2.5, True)])
def test_a_target_applies_to_the_ratio_if_there_are_rounds(minimum, maximum, met):
    row = compare("speed", "a/s", [100.0], "theirs", [50.0], minimum=minimum, maximum=maximum)
    assert row.met is met
    assert ("**2.00**" in str(row)) is not met


def test_a_target_applies_to_our_figure_if_there_are_no_rounds():
    row = Row(what="lost", ours=1, against="theirs", baseline=20, maximum=0)
    assert row.met is False
    assert row.ratio == 0.05
    assert "**1**" in str(row)


def test_a_target_of_our_figure_applies_to_it_also_if_there_are_rounds():
    row = compare(
        "waited", "s", [0.1, 0.3, 0.2], "theirs", [1.0, 1.0, 0.0], maximum=0.1, of_ours=True
    )
    assert row.met is False
    cells = "| **0.2 s** | 1 s (theirs) | 0.20 (0.10 to 0.30) | 3 | at most 0.1: **missed** |"
    assert cells in str(row)


def test_a_figure_without_a_baseline_is_refused():
    with pytest.raises(ValueError, match="speed: a figure without a baseline"):
        Row(what="speed", ours=3.0)


def test_a_baseline_of_zero_has_no_ratio():
    row = Row(what="lost", ours=0, against="theirs", baseline=0, maximum=0)
    assert row.ratio is None
    assert row.met is True


def test_a_figure_that_could_not_be_measured_states_why_and_misses_no_target():
    row = not_measured("OCR", "OCRmyPDF is not installed")
    assert row.met is None
    assert "not measured" in str(row)
    assert "OCRmyPDF is not installed" in str(row)


def growth_rows(sizes, *seconds):
    """Return the rows of runs that take these seconds, one after the other."""
    durations = iter(seconds)
    growth = compare_with_smallest(sizes, lambda _: {"append": next(durations)})
    assert next(durations, None) is None, "each of the seconds is used"
    return list(growth.rows("entries", "us"))


def test_each_larger_case_is_compared_with_the_smallest_before_and_after_it():
    small, middle, large = growth_rows((10, 100, 1000), 20.0, 30.0, 40.0, 80.0, 60.0)
    assert (small.at, small.ratios) == (10, [2.0, 1.5])
    assert (middle.at, middle.ratios) == (100, [1.0])
    assert (large.at, large.ratios) == (1000, [1.6])
    assert "entries: append, 1,000 | 80 us | 50 us (10) | 1.60 | 1 |" in str(large)


def test_a_machine_that_slows_down_does_not_look_like_growth():
    _, *larger = growth_rows((10, 100, 1000), 1.0, 2.0, 3.0, 4.0, 5.0)
    assert [row.ratio for row in larger] == [1.0, 1.0]


def test_a_stored_result_is_read_back_unchanged(tmp_path):
    row = compare("speed", "a/s", [2.0], "theirs", [1.0], minimum=1)
    result = make_result(row, not_measured("b", "why"))
    result.write(tmp_path / "ledger.json")
    stored = BenchResult.read(tmp_path / "ledger.json")
    assert str(stored) == str(result)
    assert stored.rows[0].met is True


def test_the_page_names_missing_benchmarks_and_shows_charts(tmp_path):
    rows = growth_rows((10, 100), 20.0, 30.0, 20.0)
    ratio = compare("speed & more", "a/s", [2.0], "theirs", [1.0])
    report_of_all.write_page([make_result(ratio), make_result(*rows, name="growth")], tmp_path)
    page = (tmp_path / "index.md").read_text()
    assert "Not measured: The flow" in page
    assert "- [How cost grows](#how-cost-grows-benchgrowthpy)" in page
    assert "(ledger.svg)" in page
    assert "(growth-entries.svg)" in page
    assert "speed & more" in label_texts_of((tmp_path / "ledger.svg").read_text())
    assert "append: 1.50" in label_texts_of((tmp_path / "growth-entries.svg").read_text())


def test_a_quick_result_does_not_count_as_a_full_one(tmp_path, monkeypatch):
    monkeypatch.setattr(report_of_all, "RESULTS", tmp_path)
    assert not report_of_all.has_result("ledger", is_quick=True)
    make_result(not_measured("b", "why")).write(tmp_path / "ledger.json")
    assert report_of_all.has_result("ledger", is_quick=True)
    assert not report_of_all.has_result("ledger", is_quick=False)


def test_a_failed_benchmark_states_its_error_and_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(report_of_all, "RESULTS", tmp_path)
    result = replace(make_result(not_measured("b", "why")), failed="TimeoutError")
    result.write(tmp_path / "ledger.json")
    assert "It failed after these rows: TimeoutError" in str(result)
    assert not report_of_all.has_result("ledger", is_quick=True)


def test_a_failed_benchmark_keeps_its_earlier_rows(tmp_path, monkeypatch):
    def measure(_options):
        yield not_measured("a", "why")
        raise TimeoutError

    monkeypatch.setattr("sys.argv", ["bench", "--json", str(tmp_path / "ledger.json")])
    with pytest.raises(TimeoutError):
        run_benchmark(measure, program(""))
    result = BenchResult.read(tmp_path / "ledger.json")
    assert ([row.what for row in result.rows], result.failed) == (["a"], "TimeoutError")


def test_a_missed_target_is_drawn_as_a_square():
    good = charts.ratios("t", [compare("a", "", [2.0], "b", [1.0], minimum=1)])
    bad = charts.ratios("t", [compare("a", "", [2.0], "b", [1.0], minimum=3)])
    assert "<circle" in good
    assert "<rect" in bad


def test_labels_of_curves_that_end_at_one_point_do_not_overlap():
    flat = growth_rows((1, 10), 1.0, 1.0, 1.0)
    lines = dict.fromkeys("abcd", flat)
    labels = labels_of(charts.curves("t", "entries", lines))
    heights = sorted(float(each.get("y")) for each in labels if each.text.endswith(": 1.00"))
    assert len(heights) == 4
    assert all(lower - upper >= 18 for upper, lower in pairwise(heights))


def make_run(side, *, seconds, lost=0, refused=0):
    outcome = RunOutcome(seconds=seconds, states={}, finished={}, lost=lost)
    return flow.Run(flow.REAL, side, 100, outcome, seconds, {429: refused}, 2_000_000)


def test_lost_documents_do_not_count_as_processed_and_are_stated_in_percent():
    runs = [make_run(flow.PLAIN, seconds=10, lost=20, refused=7), make_run(flow.OURS, seconds=5)]
    speed, lost = flow.compare_with_plain(runs)
    assert speed.ratio == pytest.approx(20 / 8)
    assert speed.minimum == 1.5
    assert "plain 7" in speed.note
    assert (lost.ours, lost.baseline, lost.met) == (0, 20, True)


def test_a_result_of_a_busy_machine_has_a_warning():
    assert "do not rely" in str(make_result(load_before=100_000.0))
    assert "do not rely" not in str(make_result(load_before=0.0))
