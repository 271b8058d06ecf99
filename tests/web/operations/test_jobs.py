"""The pages of background jobs: found by filters, followed, and cancelled by those who may."""

import pytest

from audit import background_jobs, job_runs
from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.verification import runs
from tests.config.access_table import AFFAIRS, LEAD, OPS
from tests.factories import make_staff
from tests.ingestion.reading.documents import make_pdf


@pytest.fixture
def rita(db):
    return make_staff(AFFAIRS, "rita")


@pytest.fixture
def olu(client, db):
    person = make_staff(OPS, "olu")
    client.force_login(person, "sites.backends.People")
    return client


def test_jobs_are_found_by_submitter_kind_status_and_day(olu, rita):
    first = runs.request_check(rita.actor)
    job_runs.run_next_job()
    second = runs.request_check(Actor("user:0"))

    def find(query):
        text = olu.get(f"/admin/ops/jobs/?{query}").content.decode()
        return {job.pk for job in (first, second) if f"/admin/ops/jobs/{job.pk}/" in text}

    assert find("") == {first.pk, second.pk}
    assert find("submitter=rita") == find("status=done") == {first.pk}
    assert find("kind=verify&status=waiting") == {second.pk}
    assert find("kind=export") == find("since=2999-01-01") == find("until=2020-01-01") == set()
    assert find("since=yesterday") == {first.pk, second.pk}  # invalid values are ignored


def test_the_page_and_the_interface_name_the_same_submitter(olu, db):
    helena = make_staff(OPS, "helena", printed_name="Helena Braun")
    token = Actor("token:4da5", "operations")
    job = background_jobs.request_job(
        "verify_archive", {"parts": []}, token, owner=helena.actor_name
    )
    for address in ("/admin/ops/jobs/", f"/admin/ops/jobs/{job.pk}/"):
        text = olu.get(address).content.decode()
        assert "Helena Braun (helena)" in text
        assert "token:" not in text


def test_the_page_of_a_failed_job_does_not_ask_to_repeat_what_fails_again(client, db):
    client.force_login(make_staff(LEAD, "lena"), "sites.backends.People")
    job = background_jobs.request_job("train_model", {}, Actor("user:7"))
    job_runs.run_next_job()
    text = client.get(f"/admin/ops/jobs/{job.pk}/").content.decode()
    assert "Training needs at least 20 documents" in text
    assert "Start the job again" not in text
    assert "If the message names what is missing, correct that first." in text


def test_a_waiting_job_is_cancelled_on_its_page(olu, rita):
    job = runs.request_check(rita.actor)
    page = olu.get(f"/admin/ops/jobs/{job.pk}/")
    assert "Cancel job" in page.content.decode()
    answer = olu.post(f"/admin/ops/jobs/{job.pk}/cancel/", follow=True)
    text = answer.content.decode()
    assert "The job is being cancelled." in text
    assert "Cancelled." in text
    assert "Cancel job" not in text
    assert (
        "has ended already"
        in olu.post(f"/admin/ops/jobs/{job.pk}/cancel/", follow=True).content.decode()
    )


def test_the_page_of_a_job_answers_polls_until_it_ends(olu, rita):
    job = runs.request_check(rita.actor)
    live = olu.get(f"/admin/ops/jobs/{job.pk}/", headers={"x-fragment": "1"})
    assert "Waiting for a worker." in live.content.decode()
    repeated = {"x-fragment": "1", "if-none-match": live["ETag"]}
    assert olu.get(f"/admin/ops/jobs/{job.pk}/", headers=repeated).status_code == 304
    job_runs.run_next_job()
    done = olu.get(f"/admin/ops/jobs/{job.pk}/", headers=repeated)
    assert "data-done" in done.content.decode()


def test_only_the_submitter_and_operations_cancel_a_job(client, rita):
    other = make_staff(AFFAIRS, "rosa")
    job = runs.request_check(rita.actor)
    client.force_login(other, "sites.backends.People")
    assert client.post(f"/admin/ops/jobs/{job.pk}/cancel/").status_code == 403
    client.force_login(rita, "sites.backends.People")
    assert client.post(f"/admin/ops/jobs/{job.pk}/cancel/").status_code == 302


def fill_form(client, kind, **fields):
    """Open the form of a kind of jobs, fill it in, and send it."""
    address = f"/admin/ops/jobs/new/{kind}/"
    key = client.get(address).context["form"]["request_key"].value()
    return client.post(address, {"request_key": key, **fields}, follow=True)


def test_a_verification_of_the_archive_is_requested_on_a_page_and_shows_its_result(olu):
    offered = olu.get("/admin/ops/jobs/").content.decode()
    assert "Verification of the archive" in offered
    assert "/admin/ops/jobs/new/backup/" in offered
    assert "/admin/ops/jobs/new/assess_corpus/" not in offered
    page = fill_form(olu, "verify_archive", part="today")
    job = page.context["job"]
    assert (job.kind, len(job.arguments["parts"]) < 256) == ("verify_archive", True)
    assert list_entries(f"job:{job.pk}")[0].event == "job.requested"
    job_runs.run_next_job()
    assert "The archive is intact." in olu.get(f"/admin/ops/jobs/{job.pk}/").content.decode()


def test_a_form_that_is_sent_twice_requests_one_job(olu):
    fields = {"request_key": "6f1f2c4e-6f0c-4d8a-8d6b-0f6b1a1c2d3e", "part": "all"}
    first, second = (olu.post("/admin/ops/jobs/new/verify_archive/", fields) for _ in range(2))
    assert first.url == second.url
    assert background_jobs.list_jobs().count() == 1


def test_a_backup_without_a_folder_is_explained(olu, settings):
    settings.BACKUP_DIR = None
    page = fill_form(olu, "backup")
    assert page.status_code == 400
    assert "BACKUP_DIR is not set." in page.content.decode()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)  # the heartbeat of the job has its own connection
def test_a_corpus_is_chosen_by_its_name_and_the_result_is_downloaded(client, settings, tmp_path):
    settings.ASSESSMENT_DIR, settings.EXPORT_DIR = tmp_path / "corpora", tmp_path / "exports"
    (settings.ASSESSMENT_DIR / "2026").mkdir(parents=True)
    (settings.ASSESSMENT_DIR / "2026" / "note.pdf").write_bytes(make_pdf())
    client.force_login(make_staff(LEAD, "lena"), "sites.backends.People")
    page = fill_form(client, "assess_corpus", folder="2026", site="no such site")
    assert "There is no such site." in page.content.decode()
    job = fill_form(client, "assess_corpus", folder="2026").context["job"]
    job_runs.run_next_job()
    assert "No criterion was missed." in client.get(f"/admin/ops/jobs/{job.pk}/").content.decode()
    file = client.get(f"/admin/ops/jobs/{job.pk}/file/")
    assert b"note.pdf" in b"".join(file)
    client.force_login(make_staff(OPS, "olaf"), "sites.backends.People")
    assert client.get(f"/admin/ops/jobs/{job.pk}/file/").status_code == 403
    assert client.get("/admin/ops/jobs/new/assess_corpus/").status_code == 403
