"""Operations can see failed tasks with their batches."""

import pytest
from django.utils import timezone
from django_q.models import Failure

from tests.factories import make_batch

pytestmark = pytest.mark.django_db
PAGE = "/admin/django_q/failure/"


def failed(result, name="shift"):
    now = timezone.now()
    Failure.objects.create(
        id=f"{name:x<32}", name=name, func="ingestion.tasks.work_shift", started=now, stopped=now,
        success=False, result=result, args=(), kwargs={},
    )  # fmt: skip


def test_a_failed_shift_links_to_the_batches_of_its_chunks(as_role):
    first, second, other = make_batch(), make_batch(), make_batch()
    chunks = "; ".join(f"chunk {batch.chunks.get().pk}" for batch in (first, second))
    failed(f"a bug of ours : Traceback (most recent call last):\n...\nIt had in hand: {chunks}.")
    page = as_role("Operations").get(PAGE).content.decode()
    assert "a bug of ours" in page
    assert f'href="/admin/ingestion/batch/{first.pk}/change/">{first.reference}' in page
    assert second.reference in page
    assert other.reference not in page


def test_a_failure_without_chunks_is_listed(as_role):
    failed("no table : Traceback ...", name="purge wakeups")
    client = as_role("Operations")
    assert "no table" in client.get(PAGE).content.decode()
    [row] = Failure.objects.all()
    whole = client.get(f"{PAGE}{row.pk}/change/").content.decode()
    assert "no table : Traceback ..." in whole


def test_failed_tasks_can_neither_be_run_again_nor_removed(as_role):
    failed("a bug")
    client, [row] = as_role(""), Failure.objects.all()
    assert "Resubmit" not in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"}).status_code == 403
