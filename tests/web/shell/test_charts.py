"""The numbers of charts, from which templates draw them."""

import pytest
from django.template.loader import render_to_string

from web.shell import charts
from web.shell.charts import AreaChart, ChartSeries, ColumnChart


def columns(*pairs):
    filed, rejected = zip(*pairs, strict=True)
    series = [ChartSeries("Filed", "c1", filed), ChartSeries("Rejected", "c2", rejected)]
    return ColumnChart("key", "Title", "Said", [f"{n}:00" for n in range(len(pairs))], series)


@pytest.mark.parametrize(
    ("largest", "end"),
    [(0, 1), (1, 1), (3, 5), (10, 10), (11, 20), (23, 25), (99, 100), (101, 200)],
)
def test_an_axis_ends_at_a_round_number(largest, end):
    assert charts.round_up_axis(largest) == end


def test_rectangles_of_a_column_are_stacked_with_a_gap():
    below, above = columns((30, 20)).rectangles
    assert (below.y, below.height) == (40.0, 60.0)
    assert above.y == 0.0
    assert above.y + above.height < below.y
    assert below.tone != above.tone


def test_zero_values_have_no_rectangle():
    assert columns((0, 0), (0, 0)).rectangles == []
    [only] = columns((0, 0), (0, 7)).rectangles
    assert (only.tone, only.y + only.height) == ("c2", 100.0)


def test_small_values_have_a_visible_bar():
    bars = charts.build_bars([("a", 10_000, ""), ("b", 1, ""), ("c", 0, "")], "c1")
    assert [bar.filled for bar in bars] == [100, 1, 0]
    assert bars[0].text == "10,000"


def test_the_line_fills_the_whole_width():
    line = AreaChart("key", "Title", "Said", ["a", "b", "c"], [0, 5, 10])
    assert line.points == "0,100.0 10,50.0 20,0.0"
    assert line.area.endswith("20,100")


def test_each_chart_has_a_name_and_a_description_and_no_styles():
    chart = columns((1, 2), (3, 4))
    drawn = render_to_string("charts/columns.html", {"chart": chart})
    table = render_to_string("charts/columns_table.html", {"chart": chart, "label_heading": "Hour"})
    assert 'role="img"' in drawn
    assert '<title id="key-name">Title</title>' in drawn
    assert '<desc id="key-description">Said</desc>' in drawn
    assert "style=" not in drawn + table
    for cell in ("0:00", "1:00", ">3<", ">4<"):
        assert cell in table
