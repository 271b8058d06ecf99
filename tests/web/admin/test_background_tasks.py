"""Operations can see what tasks of workers did, with links to their batches."""

import pytest
from django.utils import timezone
from django_q.models import Task

from tests.factories import make_batch

pytestmark = pytest.mark.django_db
FAILURES, SUCCESSES = "/admin/django_q/failure/", "/admin/django_q/success/"


def make_task(result, name="shift", *, success=False, group="any batch"):
    now = timezone.now()
    return Task.objects.create(
        id=f"{name:x<32}"[:32], name=name, func="ingestion.tasks.work_shift", started=now,
        stopped=now, success=success, result=result, args=(), kwargs={}, group=group,
    )  # fmt: skip


def link_to(batch):
    return f'href="/admin/ingestion/batch/{batch.pk}/change/">{batch.reference}'


def test_a_failed_shift_links_to_the_batches_of_its_chunks(as_role):
    first, second, other = make_batch(), make_batch(), make_batch()
    chunks = "; ".join(f"chunk 1 of batch {each.reference} (cv)" for each in (first, second))
    make_task(f"a bug of ours : Traceback (most recent call last):\n...\nIt had in hand: {chunks}.")
    page = as_role("Operations").get(FAILURES).content.decode()
    assert "a bug of ours" in page
    assert link_to(first) in page
    assert link_to(second) in page
    assert other.reference not in page


def test_a_finished_shift_says_what_it_did_and_links_to_its_batches(as_role):
    worked, woken, other = make_batch(), make_batch(), make_batch()
    result = f"{worked.reference}: 120 documents, 105 filed"
    make_task(result, f"shift for {woken.reference}", success=True, group=woken.reference)
    client = as_role("Operations")
    page = client.get(SUCCESSES).content.decode()
    assert result in page
    assert link_to(worked) in page
    assert link_to(woken) in page
    assert other.reference not in page
    assert result not in client.get(FAILURES).content.decode()
    assert result in client.get(SUCCESSES, {"q": woken.reference}).content.decode()


def test_a_failure_without_chunks_is_listed(as_role):
    task = make_task("no table : Traceback ...", name="purge wakeups")
    client = as_role("Operations")
    assert "no table" in client.get(FAILURES).content.decode()
    whole = client.get(f"{FAILURES}{task.pk}/change/").content.decode()
    assert "no table : Traceback ..." in whole


@pytest.mark.parametrize(("pages", "success"), [(FAILURES, False), (SUCCESSES, True)])
def test_tasks_can_neither_be_run_again_nor_removed(as_role, pages, success):
    client, task = as_role(""), make_task("a bug", success=success)
    assert "Resubmit" not in client.get(pages).content.decode()
    assert client.post(f"{pages}{task.pk}/delete/", {"post": "yes"}).status_code == 403
