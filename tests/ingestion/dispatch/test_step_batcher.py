"""Tests that steps which are ready together share a transaction, and no failures."""

import asyncio
import threading
import uuid
from pathlib import Path

import pytest

from audit.ledger.queries import list_entries
from ingestion.core.errors import LeaseLost
from ingestion.core.ports import Fetched
from ingestion.core.states import DocumentState
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.step_batcher import StepBatcher
from ingestion.dispatch.worker_steps import Conclude, StartChecking
from ingestion.models import Document
from ingestion.rules.checks.verdict import CheckedDocument
from tests.factories import make_leased, make_site, verdict

pytestmark = pytest.mark.django_db(transaction=True)


async def while_the_thread_is_busy(steps):
    """Request all steps while the thread is busy, so that they are applied together."""
    async with DatabaseThread() as database:
        busy, take = threading.Event(), StepBatcher(database)
        working = asyncio.create_task(database(busy.wait, 200))
        asked = [asyncio.create_task(take(step)) for step in steps]
        await asyncio.sleep(0)
        busy.set()
        await working
        return await asyncio.gather(*asked, return_exceptions=True)


def starting(documents, lease, *, shas=None):
    shas = shas or [f"{number:064x}" for number, _ in enumerate(documents)]
    return [
        StartChecking(document=document.pk, lease=lease, fetched=Fetched(Path(), sha, 1))
        for document, sha in zip(documents, shas, strict=True)
    ]


def recorded_at(document):
    return list_entries(document.subject)[-1].recorded_at


def test_steps_that_are_ready_together_share_a_transaction():
    chunk, lease = make_leased(documents=3)
    documents = list(chunk.documents.all())
    steps = starting(documents, lease)
    assert asyncio.run(while_the_thread_is_busy(steps)) == [True, True, True]
    # All entries of a transaction have the time that was read under the lock of the chain.
    assert len({recorded_at(document) for document in documents}) == 1


async def one_after_the_other(steps):
    """Request each step after the thread has been idle."""
    async with DatabaseThread() as database:
        take, asked = StepBatcher(database), []
        for step in steps:
            asked.append(asyncio.create_task(take(step)))
            await asyncio.sleep(0.05)
        return await asyncio.gather(*asked)


@pytest.mark.slow
def test_a_single_step_is_applied_at_once_and_those_that_follow_together(monkeypatch):
    monkeypatch.setattr("ingestion.dispatch.step_batcher.BATCHING_SECONDS", 3.0)
    chunk, lease = make_leased(documents=3)
    documents = list(chunk.documents.all())
    assert asyncio.run(one_after_the_other(starting(documents, lease))) == [True, True, True]
    first, second, third = map(recorded_at, documents)
    assert first < second == third


def test_a_full_group_does_not_wait_for_more_steps(monkeypatch):
    monkeypatch.setattr("ingestion.dispatch.step_batcher.BATCHING_SECONDS", 3600.0)
    monkeypatch.setattr("ingestion.dispatch.step_batcher.FULL_GROUP_STEPS", 2)
    chunk, lease = make_leased(documents=3)
    documents = list(chunk.documents.all())
    waiting = one_after_the_other(starting(documents, lease))
    assert asyncio.run(asyncio.wait_for(waiting, 200)) == [True, True, True]
    first, second, third = map(recorded_at, documents)
    assert first < second == third


def test_a_step_that_fails_fails_alone():
    chunk, lease = make_leased(documents=2)
    other, _ = make_leased()
    lost = starting([other.documents.get()], uuid.uuid4())
    first, second = starting(list(chunk.documents.all()), lease)
    answers = asyncio.run(while_the_thread_is_busy([first, *lost, second]))
    assert answers[0] is True
    assert isinstance(answers[1], LeaseLost)
    assert answers[2] is True
    assert other.documents.get().state == DocumentState.RECEIVED


def test_two_documents_with_the_same_bytes_in_one_group_are_filed_once():
    site, sha = make_site(), "a" * 64
    pairs = [make_leased(site=site) for _ in range(2)]
    documents = [chunk.documents.get() for chunk, _ in pairs]
    steps = [
        step
        for (_, lease), document in zip(pairs, documents, strict=True)
        for step in starting([document], lease, shas=[sha])
    ]
    assert asyncio.run(while_the_thread_is_busy(steps)) == [True, True]
    deciding = [
        Conclude(document=document.pk, lease=lease, checked=CheckedDocument(verdict()))
        for (_, lease), document in zip(pairs, documents, strict=True)
    ]
    answers = asyncio.run(while_the_thread_is_busy(deciding))
    assert sorted(answers) == [DocumentState.ARCHIVED, DocumentState.DEDUPED]
    assert Document.objects.filter(site=site, sha256=sha).on_file().count() == 1


def test_two_uploads_of_the_same_bytes_under_two_names_are_filed_once():
    """Decision 12: an upload is a twin under any name."""
    chunk, lease = make_leased(documents=2)
    documents = list(chunk.documents.all())
    for document in documents:
        Document.objects.filter(pk=document.pk).update(url="", spooled=f"uploads/{document.pk}")
    steps = starting(documents, lease, shas=["a" * 64] * 2)
    assert asyncio.run(while_the_thread_is_busy(steps)) == [True, True]
    deciding = [
        Conclude(document=document.pk, lease=lease, checked=CheckedDocument(verdict()))
        for document in documents
    ]
    answers = asyncio.run(while_the_thread_is_busy(deciding))
    assert sorted(answers) == [DocumentState.ARCHIVED, DocumentState.DEDUPED]
