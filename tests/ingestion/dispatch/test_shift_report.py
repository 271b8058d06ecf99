"""The result of a shift says what it did for each batch."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Task
from django_q.signing import SignedPackage

from ingestion import tasks
from ingestion.core.ports import WorkItem
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.dispatch.shift_report import ShiftReport
from ingestion.dispatch.wakeup_transport import ANY_BATCH
from ingestion.operations import retention
from tests.factories import make_batch


def make_items(batch, *documents):
    return [
        WorkItem(
            document=key, chunk=1, batch=batch, site_id="1001", doc_id="cv", url="", terms=None
        )
        for key in documents
    ]


def test_a_report_counts_the_documents_of_each_batch_by_their_outcome():
    report = ShiftReport()
    assert str(report) == "No chunk was due."
    first, second = make_items("BAT-2026-0007", 1, 2, 3), make_items("BAT-2026-0008", 4)
    report.add_documents(first)
    report.add_documents(second)
    report.settle(first[0], DocumentState.ARCHIVED)
    report.settle(first[1], DocumentState.ARCHIVED)
    report.settle(second[0], DocumentState.HELD)
    assert str(report) == (
        "BAT-2026-0007: 3 documents, 2 filed, 1 not finished; "
        "BAT-2026-0008: 1 document, 1 held by us"
    )


def test_a_document_that_is_leased_again_in_one_shift_is_counted_once():
    report, items = ShiftReport(), make_items("BAT-2026-0007", 1)
    report.add_documents(items)
    report.add_documents(items)
    report.settle(items[0], DocumentState.REJECTED)
    assert str(report) == "BAT-2026-0007: 1 document, 1 rejected"


def read_groups():
    packages = [SignedPackage.loads(row.payload) for row in OrmQ.objects.order_by("pk")]
    return [(package["group"], package["name"]) for package in packages]


@pytest.mark.django_db(transaction=True)
def test_a_task_names_the_batch_for_which_it_was_woken():
    batch = make_batch()
    wakeup.wake_worker()
    assert read_groups() == [
        (batch.reference, f"shift for {batch.reference}"),
        (ANY_BATCH, f"shift for {ANY_BATCH}"),
    ]


@pytest.mark.django_db(transaction=True)
def test_the_task_of_a_shift_returns_its_report(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path / "spool"
    assert tasks.work_shift() == "No chunk was due."


@pytest.mark.django_db
def test_tasks_are_removed_after_the_retention_period(settings):
    now = timezone.now()
    for name, days in (("old", 91), ("new", 1)):
        at = now - timedelta(days=days)
        Task.objects.create(id=name, name=name, func="work", started=at, stopped=at, success=True)
    retention.prune(days=90)
    assert [task.name for task in Task.objects.all()] == ["new"]
