"""Tests of documents in other languages than English: their types, values and decisions."""

import pytest

from ingestion.core.states import DocumentState
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import merge_pages
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check
from ingestion.rules.document_types import (
    TYPES,
    TypesError,
    TypesFile,
    find_types,
    load_catalogue,
    load_translated_types,
)
from samples.layouts import TRANSLATED_LAYOUTS, make_translated_specimen
from samples.layouts.values import TODAY
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading

LAYOUTS = [
    (language, *layout) for language, layouts in TRANSLATED_LAYOUTS.items() for layout in layouts
]
QUICK = {("fra", "irb-approval", "letter"), ("jpn", "irb-approval", "notice")}
DECISIONS = {"irb-approval", "irb-changes-requested", "irb-disapproval"}
# Values that no field of the type has
UNREAD = {"chair", "town", "hospital", "committee", "letter_date"}


def judge(path, specimen):
    path.write_bytes(specimen.content)
    probe = tasks.probe_document(path, path.with_suffix(".rewritten"), ReadingLimits())
    site = SiteFacts("")
    return check(merge_pages(probe, []), SenderFacts("v2.1"), site=site, today=TODAY)


@pytest.mark.parametrize(
    ("language", "slug", "layout"),
    [each if each in QUICK else pytest.param(*each, marks=pytest.mark.slow) for each in LAYOUTS],
)
def test_a_specimen_is_recognised_in_its_language_with_its_values(tmp_path, language, slug, layout):
    specimen = make_translated_specimen(language, slug, layout, 1)
    verdict = judge(tmp_path / "specimen.pdf", specimen)
    assert verdict.document_type == slug
    read = {value.name: value.value for value in verdict.fields}
    expected = {
        name: str(specimen.days.get(name, value))
        for name, value in specimen.values.items()
        if name not in UNREAD
    }
    assert expected.items() <= read.items()
    assert verdict.state in {DocumentState.ARCHIVED, DocumentState.IN_REVIEW}


@pytest.mark.parametrize("language", TRANSLATED_LAYOUTS)
def test_a_language_has_the_same_types_as_the_others(language):
    types = find_types(language)
    assert types.keys() == find_types("fra").keys()
    assert all(kind.language == language for kind in types.values())


def test_documents_in_english_and_in_languages_without_phrases_have_the_english_types():
    assert find_types("eng") is find_types("") is find_types("swe") is TYPES


FRENCH_APPROVAL = (
    "Comité de protection des personnes Sud-Est IX",
    "Titre de la recherche : Essai du belcotamab dans l'asthme",
    "Numéro de protocole : SLX-301",
    "Investigateur principal : Hugues d'Aubigny",
    "Le comité a examiné le dossier de la recherche et a émis un avis favorable",
    "à la mise en œuvre de cette étude dans le centre.",
    "Date de l'avis favorable : 12 août 2026",
    "",
    "",
    "Le président du comité",
)
FRENCH = {"language": "fra"}


def french(*lines, **rest):
    return make_page(*lines, signed="Le président", **FRENCH, **rest)


def test_an_approval_in_french_is_filed():
    verdict = checked(make_reading(french(*FRENCH_APPROVAL)))
    assert (verdict.document_type, codes(verdict)) == ("irb-approval", [])
    assert verdict.state is DocumentState.ARCHIVED


def test_an_approval_without_a_caption_that_is_known_is_reviewed_and_not_rejected():
    lines = [line for line in FRENCH_APPROVAL if not line.startswith("Date de")]
    verdict = checked(make_reading(french(*lines)))
    assert verdict.state is DocumentState.IN_REVIEW
    assert codes(verdict) == ["OCR_LOW_CONFIDENCE"]


@pytest.mark.parametrize(
    ("decision", "slug"),
    [
        ("a émis un avis défavorable pour les motifs suivants", "irb-disapproval"),
        ("demande d'informations complémentaires : veuillez préciser", "irb-changes-requested"),
    ],
)
def test_another_decision_never_takes_the_place_of_an_approval(decision, slug):
    lines = [line.replace("a émis un avis favorable", decision) for line in FRENCH_APPROVAL]
    lines = [line.replace("Date de l'avis favorable", "Date de l'avis") for line in lines]
    assert checked(make_reading(french(*lines))).document_type == slug


def test_an_approval_with_a_condition_is_reviewed():
    verdict = checked(make_reading(french(*FRENCH_APPROVAL, "sous réserve de modifications")))
    assert "NOT_FINAL" in codes(verdict)


def test_a_title_on_a_later_page_sends_the_file_to_a_person():
    second = make_page("CURRICULUM VITAE", "Nom et prénom : Hugues d'Aubigny", number=2, **FRENCH)
    verdict = checked(make_reading(french(*FRENCH_APPROVAL), second))
    assert codes(verdict)[0] == "MULTIPLE_DOCUMENTS"


def test_numeric_dates_put_the_day_first_in_french():
    lines = [line.replace("12 août 2026", "03/08/2026") for line in FRENCH_APPROVAL]
    verdict = checked(make_reading(french(*lines)))
    dates = {value.name: value.value for value in verdict.fields}
    assert dates["approval_date"] == "2026-08-03"


OWN_PHRASES = """
[languages.swe]
day_first = true
[languages.swe.fields.approval_date]
labels = ["beslutsdatum"]
[languages.swe.types.irb-approval]
landmarks = [
  { text = "etikprövningsmyndigheten", weight = 4 },
  { text = "godkänner forskningen", weight = 4 },
]
"""


def test_an_installation_adds_phrases_of_another_language(tmp_path):
    path = tmp_path / "types.toml"
    path.write_text(OWN_PHRASES, encoding="utf-8")
    catalogue = load_catalogue(str(path))
    assert catalogue.fault == ""
    types = load_translated_types("swe", *catalogue.sources)
    assert list(types) == ["irb-approval"]
    labels = next(spec for spec in types["irb-approval"].fields if spec.name == "approval_date")
    assert labels.labels[0] == "beslutsdatum"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("[languages.swe.types.no-such-type]\nlandmarks = []", "no such table in English"),
        ("[languages.swe.fields.no_such_field]\nlabels = []", "no_such_field"),
        ("[languages.swe]\nmonth_first = true", "month_first"),
    ],
)
def test_a_mistake_in_phrases_is_named_at_the_start(wrong, named):
    with pytest.raises(TypesError, match=named):
        load_translated_types("swe", *load_catalogue().sources, TypesFile("own.toml", wrong))
