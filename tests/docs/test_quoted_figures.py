"""Tests that README and the sizing page quote the figures of the benchmark report."""

import pytest

from bench import quoted_figures

REPORT = """
## The flow: `bench/flow.py`

| what | SiteLedger | baseline | ratio | rounds | expected | note |
|---|---|---|---|---|---|---|
| a figure | **1 s** | 2 s (plain) | 0.50 | 2 | at most 0.5: **missed** |  |

## Reading: `bench/reading.py`

2026-11-22. **Other work was running on this machine: do not rely on these figures.**

| what | SiteLedger | baseline | ratio | rounds | expected | note |
|---|---|---|---|---|---|---|
| pages | 97 pages/min | 50 pages/min (theirs) | 1.94 | 2 | ratio at least 1.5 |  |
"""


@pytest.mark.parametrize("path", {path for path, _ in quoted_figures.TABLES.values()}, ids=str)
def test_a_page_quotes_the_figures_of_the_report(path):
    report = list(quoted_figures.read(quoted_figures.REPORT.read_text()))
    text = path.read_text()
    assert quoted_figures.BLOCK.search(text)
    assert quoted_figures.rewritten(text, report) == text, "run python -m bench.quoted_figures"


@pytest.fixture
def quote(monkeypatch):
    def quote_rows(*wanted):
        monkeypatch.setattr(quoted_figures, "TABLES", {"readme": (None, wanted)})
        return quoted_figures.table("readme", list(quoted_figures.read(REPORT)))

    return quote_rows


def test_a_missed_expectation_is_quoted_as_missed(quote):
    table = quote(("a figure", "flow", "a figure", ""))
    assert "| a figure | **1 s** | 2 s (plain) | 0.50 | at most 0.5: **missed** |" in table


def test_a_figure_of_a_disturbed_run_is_not_quoted(quote):
    table = quote(("scanned pages", "reading", "pages", ""))
    assert "97" not in table
    assert "not measured on a quiet machine" in table


def test_quoting_a_figure_that_the_report_lacks_is_an_error(quote):
    with pytest.raises(LookupError):
        quote(("a figure", "flow", "another figure", ""))
