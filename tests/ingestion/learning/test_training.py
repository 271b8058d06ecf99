"""A model is trained with decisions of QA, compared on other sites, and activated with a signature.

Files, parser processes, the job and the ledger are real. The documents are in the words of a
fictional hospital network (`house_documents`).
"""

import json

import pytest
from django.core.management import CommandError, call_command

from audit import background_jobs, job_runs
from audit.electronic_signatures import ElectronicSignature
from audit.ledger import queries
from ingestion.documents.active_model import (
    find_active_model,
    load_active_model,
    provide_active_model,
)
from ingestion.documents.kept_readings import join_lines
from ingestion.learning import activation, rejudgement, training
from ingestion.learning.activation import ActivationRefused
from ingestion.models import Document, LearnedModel, ModelActivation, RowUnchangeable
from ingestion.rules.classification.classify import classify
from ingestion.rules.classification.model_file import load_model_file
from ingestion.rules.document_types import RULES_VERSION
from ingestion.storage.archive import get_archive
from sites.models import User
from tests.ingestion.learning.house_documents import (
    SURNAMES,
    house_lines,
    house_pdf,
    house_reading,
)
from tests.ingestion.rules.pages import make_page
from tests.web.scenes import FILED

SITES = ("0101", "0102", "0103", "0104", "0105", "0106")


def signed(person, meaning=activation.ACTIVATION_MEANING):
    return ElectronicSignature(person.actor, str(person), meaning)


def activate(model, person, *, version=None, **options):
    return activation.activate(
        model,
        reason="It recognises more documents of the network.",
        expected_version=activation.get_version() if version is None else version,
        user=person,
        by=signed(person, **options),
    )


@pytest.fixture
def model(corrected, ines):
    """Return a model that was trained with 24 decisions about documents of six sites."""
    for number, surname in zip(SITES, SURNAMES, strict=False):
        corrected(number, coordinator=f"Ana {surname}")
    return training.train_model(by=ines.actor)


def test_training_activation_and_rollback_are_on_record(model, ines, rafael, tmp_path):
    check_the_model(model)
    check_that_others_cannot_activate(model, rafael)
    check_activation(model, ines, tmp_path)
    check_rollback(model, ines, tmp_path)
    assert list(activation.verify_models()) == []
    check_that_changes_are_found(model)


def check_the_model(model):
    entry = queries.list_entries_after([training.TRAINED], 0, 1)[0]
    assert (entry.subject, entry.sha256) == (model.subject, model.sha256)
    assert set(model.training_sites) | set(model.test_sites) == set(SITES)
    assert not set(model.training_sites) & set(model.test_sites)
    assert model.comparison["documents"] == 4 * len(model.test_sites)
    before, after = model.comparison["before"], model.comparison["after"]
    assert after["right_first"] > before["right_first"]
    assert after["wrong"] == 0
    # No feature is the name of a person who is known, although several documents contain it.
    words = {feature.partition(":")[2] for feature in json.loads(model.content)["coefficients"]}
    assert not words & {name.casefold() for name in SURNAMES[: len(SITES)]}
    assert "binder" in words
    assert training.train_model(by=ines_actor()) == model, "the same decisions give the same model"


def ines_actor():
    return User.objects.get(username="ines").actor


def check_that_others_cannot_activate(model, rafael):
    with pytest.raises(ActivationRefused, match="may not"):
        activate(model, rafael)
    assert find_active_model() is None


def check_activation(model, ines, folder):
    assert provide_active_model(folder, None) is None
    with pytest.raises(ActivationRefused, match="sign"):
        activate(model, ines, meaning="")
    row = activate(model, ines)
    entry = queries.list_entries_after([activation.ACTIVATED], 0, 1)[0]
    assert (entry.subject, entry.actor) == (model.subject, ines.actor_name)
    assert entry.detail["printed_name"] == "Inês Duarte"
    assert (row.number, row.is_rollback) == (1, False)
    with pytest.raises(ActivationRefused, match="already active"):
        activate(model, ines)
    with pytest.raises(ActivationRefused, match="since you opened"):
        activate(None, ines, version=0)
    file = provide_active_model(folder, None)
    assert provide_active_model(folder, file) is file
    assert load_active_model() == load_model_file(file)
    assert file.rules_version.startswith(RULES_VERSION.partition("+")[0])
    assert file.rules_version != RULES_VERSION
    reading = house_reading("delegation-log", "0301-1")
    first = classify(reading, model=load_model_file(file)).candidates[0]
    assert first.slug == "delegation-log"
    assert classify(reading).candidates[:1] != (first,)


def check_rollback(model, ines, folder):
    assert activation.list_earlier_models() == [None]
    row = activate(None, ines, meaning=activation.ROLLBACK_MEANING)
    entry = queries.list_entries_after([activation.ROLLED_BACK], 0, 1)[0]
    assert (row.is_rollback, entry.subject) == (True, model.subject)
    assert entry.detail["replaces"] == model.subject
    assert provide_active_model(folder, None) is None
    assert activation.list_earlier_models() == [model]
    repeated = activate(model, ines)
    assert (repeated.is_rollback, repeated.number) == (True, 3)


def check_that_changes_are_found(model):
    with pytest.raises(RowUnchangeable):
        model.save()
    content = model.content
    LearnedModel.objects.update(content=content.replace("0", "1"))
    assert any("not as it was trained" in each for each in activation.verify_models())
    LearnedModel.objects.update(content=content)
    reason = ModelActivation.objects.last().reason
    ModelActivation.objects.filter(number=3).update(reason="Another one.")
    assert any("not as it was signed" in each for each in activation.verify_models())
    ModelActivation.objects.filter(number=3).update(reason=reason)
    assert list(activation.verify_models()) == []


def test_too_few_decisions_are_explained(corrected, ines):
    corrected("0101", documents=2)
    job = training.request_training(ines)
    job_runs.run_next_job()
    job.refresh_from_db()
    assert "Documents so far: 2. Sites: 1." in job.error
    assert not LearnedModel.objects.exists()


def test_a_training_is_requested_after_enough_new_decisions(corrected, settings):
    settings.LEARNING_DECISIONS = 3
    corrected("0101", documents=2)
    assert not training.request_training_if_due()
    corrected("0102", documents=1)
    assert training.request_training_if_due()
    settings.LEARNING_DECISIONS = 0
    assert not training.request_training_if_due()


def test_words_that_ocr_read_are_joined_into_the_lines_of_the_page():
    page = make_page(*house_lines("note-to-file", 1))
    assert join_lines(page.words) == page.text


class TestRejudgement:
    @pytest.fixture
    def filed(self, sent):
        """Return two filed documents. The archive has lost the file of the second one."""
        documents = [sent(FILED, house_pdf(kind, 1)) for kind in ("delegation-log", "note-to-file")]
        path = get_archive().path_of(documents[1].sha256)
        moved = path.rename(path.with_suffix(".lost"))
        yield documents
        moved.rename(path)

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)  # the heartbeat of the job has its own connection
    def test_differences_among_filed_documents_are_reported_and_nothing_changes(self, filed, ines):
        before = list(Document.objects.values())
        job = background_jobs.request_job(rejudgement.KIND, {"model": "built-in"}, ines.actor)
        job_runs.run_next_job()
        job.refresh_from_db()
        assert job.error == ""
        report = job.result
        assert (report["documents"], report["different"], report["unreadable"]) == (2, 1, 1)
        (found,) = report["differences"]
        assert (found["document"], found["was_state"]) == (filed[0].pk, "ARCHIVED")
        assert (found["was_type"], found["state"]) == (filed[0].document_type, "IN_REVIEW")
        assert "DOC_TYPE_UNRECOGNIZED" in found["codes"]
        entry = queries.list_entries_after([rejudgement.EVENT], 0, 1)[0]
        assert (entry.detail["different"], entry.actor) == (1, ines.actor_name)
        assert list(Document.objects.values()) == before

    def test_the_command_prints_the_differences_and_ends_with_1(self, filed, capsys):
        with pytest.raises(SystemExit) as ended:
            call_command("rejudge_filed", "--model", "built-in", "--limit", "5")
        assert ended.value.code == 1
        output = capsys.readouterr().out
        assert f"{filed[0].site.site_id}/{filed[0].doc_id}: ARCHIVED as" in output
        assert "2 documents, 1 would be decided differently, 1 could not be read." in output
        with pytest.raises(CommandError, match="no model 77") as refused:
            call_command("rejudge_filed", "--model", "77")
        assert refused.value.returncode == 2

    def test_the_command_says_that_the_archive_cannot_be_read(self, filed):
        broken = get_archive().path_of(filed[1].sha256)
        broken.mkdir()
        try:
            with pytest.raises(CommandError, match=r"be judged: .*Is a directory") as refused:
                call_command("rejudge_filed", "--model", "built-in", "--limit", "5")
        finally:
            broken.rmdir()
        assert refused.value.returncode == 2
