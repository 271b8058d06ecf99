from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules.fields import dates, month_dates

ANY_DAY = st.dates(date(1950, 1, 1), date(2099, 12, 31))
FORMS = (
    "{0:%d} {0:%b} {0:%Y}",
    "{0.day} {0:%B} {0:%Y}",
    "{0:%B} {0.day}, {0:%Y}",
    "{0:%b}. {0.day} {0:%Y}",
    "{0:%d}-{0:%b}-{0:%Y}",
    "{0:%d}/{0:%b}/{0:%Y}",
    "{0:%Y}-{0:%b}-{0:%d}",
    "{0:%Y-%m-%d}",
    "{0:%Y/%m/%d}",
    "{0.day}.{0.month}.{0:%Y}",
)


def days(text, **how):
    return [written.day for written in dates.find_dates(text, **how)]


@given(ANY_DAY, st.sampled_from(FORMS))
def test_dates_are_read_in_all_written_forms(day, form):
    assert days(f"signed on {form.format(day)}, here") == [day]


def test_a_date_may_begin_within_words_that_have_the_form_of_one():
    assert days("date of approval\n2020-Oct-06") == [date(2020, 10, 6)]


@given(ANY_DAY)
def test_an_american_form_puts_the_month_first(day):
    assert days(f"{day:%m/%d/%Y}", month_first=True) == [day]


@given(ANY_DAY)
def test_an_ambiguous_date_has_no_day(day):
    (written,) = dates.find_dates(f"{day:%m/%d/%Y}")
    if written.is_ambiguous:
        assert written.day is None
    else:
        assert written.day == day


@given(ANY_DAY)
def test_digits_misread_as_letters_are_corrected(day):
    misread = f"{day:%d} {day:%b} {day:%Y}".replace("0", "O").replace("1", "l")
    assert days(misread) == [day]


def test_a_doubled_round_character_does_not_change_the_day():
    assert days("O05 Mar 2026") == [date(2026, 3, 5)]
    assert days("O12 Mar 2026") == [date(2026, 3, 12)]
    assert days("FO5 Mar 2026") == []


@given(ANY_DAY, st.integers(0, 120))
def test_adding_months_keeps_the_day_or_ends_with_the_month(day, months):
    later = dates.add_months(day, months)
    assert (later.year - day.year) * 12 + later.month - day.month == months
    assert later.day <= day.day


def test_the_last_day_of_a_long_month_becomes_the_last_day_of_a_short_one():
    assert dates.add_months(date(2024, 8, 31), 6) == date(2025, 2, 28)


@pytest.mark.parametrize("text", ["31 Feb 2026", "2026-13-01", "2026-00-12", "40/40/2026"])
def test_a_date_that_does_not_exist_is_found_without_a_day(text):
    (written,) = dates.find_dates(text)
    assert (written.day, written.is_ambiguous) == (None, False)


@pytest.mark.parametrize("text", ["page 12 of 2026", "SLX-301", "21 CFR 312.53", "12 foo 2026", ""])
def test_other_numbers_are_not_read_as_dates(text):
    assert days(text) == []


def test_a_date_is_found_on_a_fill_in_line():
    assert days("Date: _11 Nov 2026_") == [date(2026, 11, 11)]


def test_dates_do_not_depend_on_the_time_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    (written,) = dates.find_dates("2026-03-12")
    assert written.day == date(2026, 3, 12)
    assert written.day - timedelta(days=1) == date(2026, 3, 11)


@pytest.mark.parametrize("text", ["valid through April 2022", "16-17/03", "2022/11-36"])
def test_a_month_or_a_number_with_two_kinds_of_signs_is_no_date(text):
    assert days(text, short_years=True) == []


@pytest.mark.parametrize("written", ["3 October 2023", "3rd of October 2023", "03/10/2023"])
def test_the_month_of_a_whole_date_is_not_read_by_itself(written):
    assert list(month_dates.find_months(written)) == []


@given(ANY_DAY)
def test_the_value_of_a_date_or_a_month_has_a_day(day):
    assert month_dates.find_day("document_date", day.isoformat()) == day
    assert month_dates.find_day("document_date", f"{day:%Y-%m}") == day.replace(day=1)


@pytest.mark.parametrize("value", ["2023-13", "2023-02-30", "SLX-301", ""])
def test_other_texts_have_no_day(value):
    assert month_dates.find_day("document_date", value) is None


def test_a_number_with_the_form_of_a_month_has_no_day():
    assert month_dates.find_day("protocol_number", "2021-07") is None
