"""Tests of dates in other languages and calendars."""

from datetime import date

import pytest

from ingestion.rules.fields.dates import find_dates


def days_in(text, **options):
    return [found.day for found in find_dates(text, **options)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Fait à Lyon, le 1er août 2024", date(2024, 8, 1)),
        ("le 3 févr. 2024", date(2024, 2, 3)),
        ("Freiburg, den 3. März 2024", date(2024, 3, 3)),
        ("WIEN, 3. JÄNNER 2024", date(2024, 1, 3)),
        ("Madrid, a 5 de marzo de 2024", date(2024, 3, 5)),
        ("el 5 de septiembre del 2024", date(2024, 9, 5)),
        ("São Paulo, 1º de abril de 2024", date(2024, 4, 1)),
        ("10/out/2024", date(2024, 10, 10)),
        ("Roma, 12 luglio 2024", date(2024, 7, 12)),
        ("Utrecht, 5 mei 2024", date(2024, 5, 5)),
        ("Kraków, dnia 1 października 2024 r.", date(2024, 10, 1)),
        ("«01» апреля 2024 г.", date(2024, 4, 1)),
        ("令和6年4月1日", date(2024, 4, 1)),
        ("平成元年12月31日", date(1989, 12, 31)),
        ("昭和64年1月7日", date(1989, 1, 7)),
        ("令和 ６ 年 ４ 月 １ 日", date(2024, 4, 1)),
        ("２０２４年１０月８日", date(2024, 10, 8)),
        ("二〇二四年十二月二十一日", date(2024, 12, 21)),
        ("民國113年4月1日", date(2024, 4, 1)),
        ("심의일: 2024년 4월 1일", date(2024, 4, 1)),
        ("2024. 4. 1.", date(2024, 4, 1)),
        ("1 เมษายน 2567", date(2024, 4, 1)),
        ("๑ เม.ย. ๒๕๖๗", date(2024, 4, 1)),
        ("1 April 2567 B.E.", date(2024, 4, 1)),
    ],
)
def test_a_date_is_read_as_its_language_writes_it(text, day):
    assert days_in(text) == [day]


def test_dates_of_several_calendars_stand_in_their_order():
    text = "Le 12 février 2023, puis 令和6年4月1日, puis 5 mars 2024, puis 2024年10月8日"
    expected = [date(2023, 2, 12), date(2024, 4, 1), date(2024, 3, 5), date(2024, 10, 8)]
    assert days_in(text) == expected


def test_a_day_that_does_not_exist_is_none():
    assert days_in("令和6年2月30日") == [None]
    assert days_in("31 de septiembre de 2024") == [None]


@pytest.mark.parametrize(
    "text",
    ["12 out 2024", "a set of 12 set 2024", "第12回 6月", "version 2. 4. of 2024", "12 mots 2024"],
)
def test_words_and_numbers_that_are_no_date_stay_none(text):
    assert days_in(text) == []


def test_a_year_that_no_era_explains_stays_as_it_is_written():
    assert days_in("1 April 2567") == [date(2567, 4, 1)]
