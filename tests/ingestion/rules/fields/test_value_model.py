"""The suggestions of the model of values, and the candidates among which it chooses."""

from dataclasses import replace
from datetime import date
from hashlib import sha256

import pytest

from ingestion.rules.document_types import RULES_VERSION, TYPES, VALUE_MODEL_FILE, find_types
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.printed_candidates import (
    DATE,
    MAX_CANDIDATES,
    NUMBER,
    TEXT,
    list_dates,
    list_numbers,
    list_persons,
)
from ingestion.rules.fields.printed_spans import MAX_WORDS, PrintedWords
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.value_model import (
    FieldModel,
    SpanModel,
    Suggestions,
    load_value_model,
)
from ingestion.rules.fields.values import FieldValue
from tests.ingestion.rules.pages import make_page, make_reading

APPROVAL = TYPES["irb-approval"]
SPECS = {spec.name: spec for spec in APPROVAL.fields}


def make_searched(*lines, month_first=None):
    return SearchedDocument(make_reading(make_page(*lines)), APPROVAL, month_first)


def make_model(weights, *, kind=NUMBER):
    return FieldModel(kind, -3.0, weights, 0.0)


def make_value(name, value, day=None):
    return FieldValue(name, value, 1, "native", 100.0, day=day)


def suggest(document, model, *, name="protocol_number", values=None, order=()):
    suggestions = Suggestions(document, order, {("irb-approval", name): model})
    return suggestions.complete(values or {}, {name}).get(name)


def test_the_version_of_the_rules_identifies_the_model():
    digest = sha256(VALUE_MODEL_FILE.read_bytes()).hexdigest()
    assert f"+values-{digest[:8]}+" in RULES_VERSION


def test_a_model_exists_for_fields_of_the_types_that_it_names_only():
    for slug, name in load_value_model():
        assert name in {spec.name for kind in TYPES.values() for spec in kind.fields}, name
        assert slug in TYPES


def test_a_value_that_no_rule_finds_is_suggested_in_doubt():
    lines = (
        "Faculty of Psychology",
        "Ethics Committee",
        "Decision on the proposal EKP-22-118, Sundberg",
        "The committee dealt with the proposal at its sitting. There are no objections.",
        "Date 4 May 2022",
    )
    reading = make_reading(make_page(*lines))
    alone = {value.name: value for value in read_fields(reading, APPROVAL, model={})}
    found = {value.name: value for value in read_fields(reading, APPROVAL)}
    assert "protocol_number" not in alone
    assert found["protocol_number"].value == "EKP-22-118"
    assert found["protocol_number"].is_unconfirmed
    assert not found["protocol_number"].is_sure


@pytest.mark.parametrize(
    ("others", "value"), [({}, "2020-77"), ({"amendment_number": "2020-77"}, "AB-1")]
)
def test_the_most_probable_number_that_no_other_field_has_is_suggested(others, value):
    document = make_searched("Dossier 2020-77", "Code AB-1")
    weights = {"directly before=dossier": 4.5, "directly before=code": 3.5}
    values = {name: make_value(name, text) for name, text in others.items()}
    assert suggest(document, make_model(weights), values=values).value == value


@pytest.mark.parametrize(
    ("approved", "is_suggested"), [(date(2021, 5, 3), True), (date(2022, 5, 2), False)]
)
def test_no_document_ends_on_the_day_on_which_it_begins(approved, is_suggested):
    model = make_model({"directly before=until": 5.0}, kind=DATE)
    values = {"approval_date": make_value("approval_date", approved.isoformat(), approved)}
    document = make_searched("until 2 May 2022")
    order = [("approval_date", "expiry_date")]
    found = suggest(document, model, name="expiry_date", values=values, order=order)
    assert (found is not None) == is_suggested


@pytest.mark.parametrize(
    ("weight", "read", "readings"),
    [(1.0, "AB-1", ()), (2.0, "2020-77", ("2020-77", "AB-1"))],
)
def test_a_value_in_doubt_is_replaced_by_one_that_is_far_more_probable(weight, read, readings):
    document = make_searched("Dossier 2020-77", "Code AB-1")
    model = make_model({"directly before=dossier": weight})
    doubtful = replace(make_value("protocol_number", "AB-1"), confidence=70.0)
    found = suggest(document, model, values={"protocol_number": doubtful})
    assert (found.value, found.readings) == (read, readings)
    assert not found.is_sure


@pytest.mark.parametrize(("weight", "is_sure"), [(0.4, True), (2.0, False)])
def test_a_value_is_doubted_and_kept_if_another_one_is_far_more_probable(weight, is_sure):
    document = make_searched("Dossier 2020-77", "Code AB-1")
    model = make_model({"directly before=dossier": weight})
    values = {"protocol_number": make_value("protocol_number", "AB-1")}
    found = suggest(document, model, values=values)
    assert (found.value, found.is_sure) == ("AB-1", is_sure)
    assert found.readings == (() if is_sure else ("AB-1", "2020-77"))


def test_a_value_that_is_no_candidate_is_kept():
    document = make_searched("Dossier 2020-77")
    values = {"protocol_number": make_value("protocol_number", "XY-9")}
    model = make_model({"directly before=dossier": 9.0})
    assert suggest(document, model, values=values) is values["protocol_number"]


def test_a_date_that_may_be_two_days_keeps_them_beside_a_value_in_doubt():
    document = make_searched("approved on 02/06/2021", "printed 4 May 2021")
    model = make_model({"directly before=on": 5.0}, kind=DATE)
    doubtful = make_value("approval_date", "2021-05-04", date(2021, 5, 4))
    doubtful = replace(doubtful, confidence=70.0)
    found = suggest(document, model, name="approval_date", values={"approval_date": doubtful})
    assert found.readings == ("2021-06-02", "2021-02-06")


def test_nothing_is_suggested_below_the_threshold_or_without_a_candidate():
    weights = {"directly before=dossier": 2.9}
    assert suggest(make_searched("Dossier 2020-77"), make_model(weights)) is None
    assert suggest(make_searched("No number at all"), make_model(weights)) is None


def test_nothing_is_suggested_for_a_document_in_another_language():
    kind = find_types("deu")["irb-approval"]
    document = SearchedDocument(make_reading(make_page("Dossier 2020-77")), kind, None)
    assert suggest(document, make_model({"directly before=dossier": 9.0})) is None


def test_a_suggested_date_keeps_both_of_its_readings():
    model = make_model({"directly before=on": 5.0}, kind=DATE)
    value = suggest(make_searched("approved on 02/06/2021"), model, name="approval_date")
    assert (value.day, value.readings) == (None, ("2021-06-02", "2021-02-06"))
    known = make_searched("approved on 02/06/2021", month_first=True)
    assert suggest(known, model, name="approval_date").day == date(2021, 2, 6)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("Subject: approval (EA210077-A2).", ["EA210077-A2"]),
        ("file 2018-055(K), NM-REB 109555", ["2018-055(K)", "109555", "NM-REB 109555"]),
        ("No. DIM/EC/2021-22/0447;", ["DIM/EC/2021-22/0447"]),
        ("no digits here", []),
    ],
)
def test_each_text_with_a_digit_may_be_a_number(line, numbers):
    assert [each.text for each in list_numbers(make_searched(line))] == numbers


def test_dates_and_names_are_candidates_with_the_words_around_them():
    document = make_searched("Approved by the chair, Dr Ann Cole, on 4 May 2021", "Dear Dr Cole")
    (day,) = list_dates(document)
    assert {"directly before=on", "from first=0", "at end"} <= day.features
    (person,) = list_persons(document)
    assert person.text == "Dr Ann Cole"
    assert {"titled", "addressed", "before=chair"} <= person.features


def test_the_distance_of_a_date_from_that_of_the_letter_is_known():
    lines = ("Ethics Office", "12 May 2021", "We met on 4 May 2021.", "Valid until 4 May 2022.")
    letter, met, ends = list_dates(make_searched(*lines))
    assert "from letter=0" in letter.features
    assert {"from letter=-3", "before letter=1"} <= met.features
    assert "from letter=7" in ends.features
    (alone,) = list_dates(make_searched("They met on 4 May 2021 at noon."))
    assert "no letter date" in alone.features


def test_a_document_of_numbers_has_a_limited_number_of_candidates():
    lines = [" ".join(f"{line}-{number}" for number in range(40)) for line in range(40)]
    assert len(list_numbers(make_searched(*lines))) == MAX_CANDIDATES


def test_a_value_in_doubt_that_another_field_has_is_replaced():
    document = make_searched("Dossier 2020-77", "Registered as IRB00002555")
    values = {
        "protocol_number": replace(make_value("protocol_number", "IRB00002555"), confidence=70.0),
        "irb_registration": make_value("irb_registration", "IRB00002555"),
    }
    found = suggest(document, make_model({"directly before=dossier": 4.0}), values=values)
    assert found.value == "2020-77"


def test_a_value_without_doubt_that_another_field_has_is_kept():
    document = make_searched("Dossier 2020-77", "Amendment 2 to version 2")
    values = {
        "amendment_number": make_value("amendment_number", "2"),
        "protocol_version": make_value("protocol_version", "2"),
    }
    model = make_model({"directly before=dossier": 9.0})
    found = suggest(document, model, name="amendment_number", values=values)
    assert found is values["amendment_number"]


def test_a_name_does_not_begin_within_a_word():
    document = make_searched("Researcher in charge Loretta Standing")
    assert [each.text for each in list_persons(document)] == ["Loretta Standing"]


def make_spans(start, end, *, is_compared=False, threshold=-2.0):
    parts = [FieldModel(TEXT, -4.0, weights, 0.0) for weights in (start, end)]
    return SpanModel(*parts, threshold, is_compared)


LETTER = (
    "From the Bureau of Inquiry,",
    "Faculty of Letters, Ashby College",
    "to Dr Ann Cole.",
)
BUREAU = make_spans({"word=bureau": 9.0}, {"word=college": 9.0})


def test_a_text_over_two_lines_is_suggested_from_its_first_to_its_last_word():
    found = suggest(make_searched(*LETTER), BUREAU, name="irb_name")
    assert found.value == "Bureau of Inquiry, Faculty of Letters, Ashby College"
    assert found.is_suggested
    assert not found.is_sure


def test_no_text_is_suggested_whose_beginning_is_uncertain():
    unsure = make_spans({"word=bureau": 1.0}, {"word=college": 9.0})
    assert suggest(make_searched(*LETTER), unsure, name="irb_name") is None


@pytest.mark.parametrize(
    ("is_compared", "value", "is_sure"),
    [(False, "Faculty of Letters", True), (True, "Faculty of Letters", False)],
)
def test_only_some_texts_are_compared_with_those_that_the_rules_found(is_compared, value, is_sure):
    start = {"word=bureau": 9.0, "word=faculty": 5.0}
    model = make_spans(start, {"word=college": 9.0, "word=letters": 5.0}, is_compared=is_compared)
    values = {"irb_name": make_value("irb_name", "Faculty of Letters")}
    found = suggest(make_searched(*LETTER), model, name="irb_name", values=values)
    assert (found.value, found.is_sure) == (value, is_sure)


def test_a_text_begins_at_a_line_a_sign_or_a_capital_letter_and_ends_likewise():
    words = PrintedWords([make_page("the study of Ann Cole: a trial (pilot) in schools")])
    texts = [word.text for word in words.words]
    assert [texts[at] for at in words.starts] == ["the", "Ann", "a", "(pilot)", "in"]
    ends = words.ends_of(texts.index("Ann"))
    assert [texts[at] for at in ends] == ["Cole:", "trial", "(pilot)", "schools"]


def test_the_words_of_a_long_document_are_limited():
    lines = ["word " * 40] * 60
    assert len(PrintedWords([make_page(*lines)]).words) == MAX_WORDS


def test_a_document_without_text_has_no_words():
    assert suggest(make_searched(""), BUREAU, name="irb_name") is None
