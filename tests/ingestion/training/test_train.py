import json
import subprocess
import sys
from math import isclose

import pytest

from ingestion.rules.classification.type_model import Model, ModelError, compute_probabilities
from ingestion.training.examples import Example
from ingestion.training.train import train
from ingestion.training.word_coefficients import MIN_GROUPS

APPROVAL = ("committee", "approved", "dear")
CONSENT = ("you", "voluntary", "participation")
OTHER = ("invoice", "amount", "payable")
INSTITUTIONS = ("north", "south", "east", "west", "centre")


def example(words, slug="", group="north", points=0):
    features = {f"body:{word}": 1.0 for word in words}
    features["layout:words"] = 0.5
    if points:
        features[f"points:{slug}"] = float(points)
    return Example(features, slug, group, (slug,))


def institutions(points=6):
    """Return documents of five institutions: an approval, a consent form and an invoice of each."""
    return [
        each
        for group in INSTITUTIONS
        for each in (
            example((*APPROVAL, group), "irb-approval", group, points),
            example((*CONSENT, group), "informed-consent-form", group, points),
            example((*OTHER, group), "", group),
        )
    ]


@pytest.fixture(scope="module")
def content():
    return train(institutions(), name="test")


@pytest.fixture(scope="module")
def model(content):
    return Model.from_json(json.loads(json.dumps(content)))


def best(model, words):
    probabilities = compute_probabilities(model.log_odds(example(words).features))
    return max(probabilities, key=lambda slug: probabilities[slug])


def test_the_words_of_a_type_make_it_more_probable(model):
    for words, slug in ((APPROVAL, "irb-approval"), (CONSENT, "informed-consent-form")):
        log_odds = model.log_odds_of_words(example(words).features)
        assert max(log_odds, key=lambda each: log_odds[each]) == slug
        assert log_odds[slug] > 0


def test_words_alone_do_not_make_a_type_certain(model):
    assert best(model, OTHER) == ""
    assert model.recognise(example(APPROVAL).features) == ""
    assert model.recognise(example(APPROVAL, "irb-approval", points=6).features) == "irb-approval"


def test_the_probabilities_of_all_types_and_of_none_sum_to_1(model):
    probabilities = compute_probabilities(
        model.log_odds(example(APPROVAL, "cv", points=3).features)
    )
    assert set(probabilities) == {"", "cv", "irb-approval", "informed-consent-form"}
    assert isclose(sum(probabilities.values()), 1)


def test_a_type_without_examples_is_recognised_by_its_landmarks(model):
    assert model.recognise(example((), "cv", points=6).features) == "cv"
    assert model.recognise(example((), "cv", points=5).features) == ""


def test_two_types_with_nearly_the_same_landmarks_are_in_doubt(model):
    features = example((), "cv", points=9).features
    assert model.recognise({**features, "points:medical-licence": 8.0}) == ""
    assert model.recognise({**features, "points:medical-licence": 7.0}) == "cv"


def test_a_word_of_few_institutions_is_not_a_feature(content):
    few = INSTITUTIONS[: MIN_GROUPS - 1]
    rare = [
        each._replace(features={**each.features, "body:rare": 1.0}) if each.group in few else each
        for each in institutions()
    ]
    features = train(rare)["coefficients"]
    assert "body:rare" not in features
    assert "body:approved" in features


def test_an_excluded_word_is_not_a_feature():
    features = train(institutions(), excluded_words={"dear"})["coefficients"]
    assert "body:dear" not in features
    assert "body:approved" in features


def test_training_twice_gives_the_same_model(content):
    assert train(institutions(), name="test") == content


def test_the_threshold_lies_above_every_wrong_type():
    misleading = example(APPROVAL, "", "elsewhere")
    misleading.features["points:irb-approval"] = 9.0
    model = Model.from_json(train([*institutions(), misleading]))
    assert model.recognise(misleading.features) == ""
    assert model.threshold > Model.from_json(train(institutions())).threshold


def test_examples_of_which_only_the_words_count_change_no_threshold(content):
    misleading = example(APPROVAL, "informed-consent-form", "elsewhere", 9)
    misleading.features["points:irb-approval"] = 9.0
    trained = train([*institutions(), misleading._replace(only_words=True)])
    assert trained["threshold"] == pytest.approx(content["threshold"], abs=1e-3)
    words = [
        example((*CONSENT, "new"), "informed-consent-form", group)._replace(only_words=True)
        for group in INSTITUTIONS
    ]
    assert "body:new" in train([*institutions(), *words])["coefficients"]
    assert "body:new" not in content["coefficients"]


def test_training_with_a_base_model_keeps_what_it_knows(model):
    plans = [example(("plan", "budget"), "cv", group, 6) for group in INSTITUTIONS]
    invoices = [example((*OTHER, group), "", group) for group in INSTITUTIONS]
    learned = Model.from_json(train([*plans, *invoices], base=model))
    assert set(learned.coefficients) >= {*model.coefficients, "body:plan"}
    assert best(learned, CONSENT) == best(model, CONSENT)
    assert learned.log_odds_of_words(example(("plan", "budget")).features)["cv"] > 0


def test_the_words_that_weigh_most_explain_a_type(model):
    reasons = model.explain(example(CONSENT).features, "informed-consent-form")
    words = {each.feature for each in reasons}
    assert {f"body:{word}" for word in CONSENT} <= words
    assert model.explain(example(CONSENT).features, "cv") == []


def test_examples_of_one_type_or_one_group_are_refused():
    with pytest.raises(ValueError, match="two types and of two groups"):
        train(institutions()[:3])
    with pytest.raises(ValueError, match="two types and of two groups"):
        train([each for each in institutions() if not each.type])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "the format 99 is not known"),
        ({"threshold": None}, "a key is missing or has a wrong value"),
        ({"intercepts": [0.0]}, "a row does not have one number for each class"),
        ({"classes": ["cv", "", "x"]}, "a row does not have one number for each class"),
        ({"coefficients": []}, "a key is missing or has a wrong value"),
        ({"threshold": 1.0}, "the threshold is not between 0 and 1"),
    ],
)
def test_an_object_that_is_not_a_model_is_refused(content, change, message):
    with pytest.raises(ModelError, match=message):
        Model.from_json({**content, **change})


@pytest.mark.slow
def test_judging_a_document_loads_no_library_of_the_training():
    program = (
        "import sys; import ingestion.rules.checks.verdict, ingestion.reading.tasks;"
        "print(*sorted({'scipy', 'sklearn', 'joblib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.split() == []
