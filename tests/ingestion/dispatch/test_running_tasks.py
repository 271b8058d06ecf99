"""The task of a killed worker is among the failed tasks, once, and says what happened."""

import pytest
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import Failure, OrmQ, Success, Task
from django_q.monitor import save_task
from django_q.signals import post_execute_in_worker, pre_execute
from django_q.signing import SignedPackage

from ingestion.dispatch import leases, running_tasks, wakeup
from ingestion.dispatch.processes import worker_host, worker_presence
from tests.factories import make_batch

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path, monkeypatch):
    settings.SPOOL_DIR = tmp_path / "spool"
    monkeypatch.setattr(worker_presence, "_folder", tmp_path)


def take_task():
    """Return the oldest task, as the cluster hands it to a worker."""
    [(ack_id, payload)] = get_broker().dequeue()
    return SignedPackage.loads(payload) | {"ack_id": ack_id, "cluster": "siteledger"}


def begin(task):
    """Let this process begin a shift for the task, and return its presence file's content."""
    pre_execute.send(sender="django_q", func=None, task=task)
    with worker_presence.mark_busy():
        leases.claim_due_chunks(1, by=worker_presence.get_current_owner())
        [worker] = worker_presence.read_busy_workers(worker_presence._folder)
    post_execute_in_worker.send(sender="django_q", func=None, task=task)
    return worker


def finish(task, result, *, success=True):
    """Let the monitor of the cluster store the result of the task."""
    ended = {"result": result, "success": success, "stopped": timezone.now()}
    save_task(task | ended, get_broker())


def test_a_killed_worker_leaves_a_failed_task_that_names_its_batch_and_no_pending_one():
    batch = make_batch()
    worker = begin(take_task())
    worker_host._recover_worker(worker)
    failure = Failure.objects.get()
    assert failure.result == (
        f"The worker was killed while it worked on {batch.reference}. "
        "The work continues in another shift."
    )
    assert (failure.name, failure.group) == (f"shift for {batch.reference}", batch.reference)
    assert failure.func == "ingestion.tasks.work_shift"
    assert not OrmQ.objects.exists(), "the broker does not deliver it again"
    assert running_tasks.get_running_task() is None


def test_a_task_that_is_delivered_again_has_one_row_with_its_last_result():
    make_batch()
    task = take_task()
    worker = begin(task)
    worker_host._recover_worker(worker)
    worker_host._recover_worker(worker)  # The host did not get to remove the file.
    assert Failure.objects.count() == 1
    finish(task, "BAT-2026-0001: 1 document, 1 filed")
    assert Task.objects.count() == Success.objects.count() == 1
    worker_host._recover_worker(worker)
    assert Success.objects.get().result == "BAT-2026-0001: 1 document, 1 filed"


def test_a_worker_that_was_killed_before_it_held_a_chunk_leaves_a_failed_task():
    make_batch()
    leases.claim_due_chunks(1, by="other:1:1")
    wakeup.wake_worker(even_if_served=True)
    OrmQ.objects.order_by("pk").first().delete()
    worker_host._recover_worker(begin(take_task()))
    assert "killed during this task" in Failure.objects.get().result


def test_the_log_says_that_the_task_failed_with_its_correlation_id(caplog):
    make_batch()
    task = take_task()
    worker_host._recover_worker(begin(task))
    [record] = [each for each in caplog.records if each.getMessage() == "task.failed"]
    assert (record.code, record.correlation_id) == ("work_shift", task["correlation_id"])


def test_the_presence_file_of_an_earlier_release_is_ignored(tmp_path):
    (tmp_path / "17").write_text("1.5 2.5 here:17:1")
    assert worker_presence.read_busy_workers(tmp_path) == []
