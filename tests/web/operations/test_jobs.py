"""The pages of background jobs: found by filters, followed, and cancelled by those who may."""

import pytest

from audit import background_jobs
from audit.ledger.actors import Actor
from audit.verification import runs
from tests.config.access_table import AFFAIRS, OPS
from tests.factories import make_staff


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
    background_jobs.run_next_job()
    second = runs.request_check(Actor("user:0"))

    def find(query):
        text = olu.get(f"/admin/ops/jobs/?{query}").content.decode()
        return {job.pk for job in (first, second) if f"/admin/ops/jobs/{job.pk}/" in text}

    assert find("") == {first.pk, second.pk}
    assert find("submitter=rita") == find("status=done") == {first.pk}
    assert find("kind=verify&status=waiting") == {second.pk}
    assert find("kind=export") == find("since=2999-01-01") == find("until=2020-01-01") == set()
    assert find("since=yesterday") == {first.pk, second.pk}  # invalid values are ignored


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
    background_jobs.run_next_job()
    done = olu.get(f"/admin/ops/jobs/{job.pk}/", headers=repeated)
    assert "data-done" in done.content.decode()


def test_only_the_submitter_and_operations_cancel_a_job(client, rita):
    other = make_staff(AFFAIRS, "rosa")
    job = runs.request_check(rita.actor)
    client.force_login(other, "sites.backends.People")
    assert client.post(f"/admin/ops/jobs/{job.pk}/cancel/").status_code == 403
    client.force_login(rita, "sites.backends.People")
    assert client.post(f"/admin/ops/jobs/{job.pk}/cancel/").status_code == 302
