"""One correlation ID follows a document from the request through worker, parser, log and ledger."""

import asyncio
import dataclasses
import datetime
import json
import subprocess
import sys
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage
from structlog.contextvars import bound_contextvars, get_contextvars

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from config.logs import KEYS
from ingestion.core.breaker import BreakerSettings
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import RequestOutcome
from ingestion.core.retry import RetryRules
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.recovery import release_lease
from ingestion.dispatch.shift import work_shift
from ingestion.dispatch.step_batcher import StepBatcher
from ingestion.dispatch.traces import open_traces
from ingestion.intake.admission import AtCapacity
from ingestion.intake.manifest import SubmissionRefused
from ingestion.models import Chunk, Document, PortalLimitState
from samples.documents import make_sample
from samples.portal import SamplePortal, SiteLimit, read_limits
from sites.models import Portal, Site, TokenScope
from tests.api.conftest import Program, make_token
from tests.factories import make_batch, make_leased, make_site
from tests.ingestion.hosts import environment, eventually, worker_host
from tests.ingestion.otlp_receiver import attributes_of, otlp_receiver
from tests.ingestion.whole_batches import is_completed

pytestmark = pytest.mark.django_db(transaction=True)
CORRELATION_ID = "6f1c2d3e-4a5b-4c6d-8e7f-901234567890"
PERSON, FILENAME = "Mara Lindqvist", "CV of Mara Lindqvist.pdf"
PERSONAL = ("mara", "lindqvist", "example.org", "127.0.0.1", ".pdf")


@pytest.fixture
def program(db):
    site = make_site("1001")
    return Program(*make_token(TokenScope.READ, TokenScope.SUBMIT, site=site))


@pytest.fixture
def submit_cv(program):
    """A function that submits the CV of a person over HTTP, and returns its document."""

    def submit_cv():
        today = datetime.datetime.now(datetime.UTC).date()
        line = {"file": FILENAME, "document_type": "cv", "person": PERSON}
        file = SimpleUploadedFile(FILENAME, make_sample("cv", today=today))
        response = program.request(
            "POST",
            "packets",
            **encode({"packet": json.dumps({"documents": [line]}), "files": file}),
            headers={
                "idempotency-key": uuid.uuid4().hex,
                "x-correlation-id": CORRELATION_ID.replace("-", "").upper(),
            },
        )
        assert response.status_code == 202, response.content
        assert response["X-Correlation-ID"] == CORRELATION_ID
        return Document.objects.get()

    return submit_cv


def encode(data):
    """Return the body and the type of a multipart request."""
    return {"data": encode_multipart(BOUNDARY, data), "content_type": MULTIPART_CONTENT}


def assert_no_personal_data(text):
    for word in PERSONAL:
        assert word not in text.lower(), word


def check_lines(text, document):
    """Check the lines of the log about a document against its entries. Returns the lines."""
    assert_no_personal_data(text)
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(line.keys() <= set(KEYS) for line in lines)
    assert all({"ts", "level", "event"} <= line.keys() for line in lines)
    own = [line for line in lines if line.get("document") == document.subject]
    assert {line["correlation_id"] for line in own} == {CORRELATION_ID}
    entries = {entry.seq: entry for entry in list_entries(document.subject)}
    recorded = [line for line in own if "seq" in line]
    assert recorded
    for line in recorded:
        entry = entries[line["seq"]]
        assert (line["event"], line["head"]) == (entry.event, entry.hash)
        assert line.get("to", "") == entry.to_state
        names = ("study", "site", "packet", "batch")
        assert [line[name] for name in names] == [
            document.site.study.protocol_number, "1001", document.packet.reference,
            document.batch.reference,
        ]  # fmt: skip
    return own


@pytest.fixture
def spans(settings):
    with otlp_receiver() as received:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = received.endpoint
        yield received


def test_a_document_of_a_request_has_one_correlation_id_and_one_trace(submit_cv, log, spans):
    document = submit_cv()
    work_shift()
    document.refresh_from_db()
    assert str(document.correlation_id) == CORRELATION_ID
    entries = list_entries(document.subject, document.batch.subject)
    assert {entry.correlation_id for entry in entries} == {CORRELATION_ID}
    own = check_lines(log.getvalue(), document)
    moves = [(line["event"], line.get("from"), line["to"]) for line in own if "to" in line]
    assert moves[:2] == [
        ("document.received", None, "RECEIVED"),
        ("document.checking", "RECEIVED", "VALIDATING"),
    ]
    assert moves[2][1:] == ("VALIDATING", document.state)
    assert all(line["ms"] >= 0 and line["attempt"] == 1 and line["worker"] for line in own[1:])

    open_traces().flush()
    found = spans.of_document(document)
    assert found.keys() == {"document", "wait", "fetch", "read", "check", "file"}
    assert len({span.trace_id for span in found.values()}) == 1
    whole = found.pop("document")
    assert not whole.parent_span_id
    assert attributes_of(whole)["siteledger.to"] == document.state
    assert {span.parent_span_id for span in found.values()} == {whole.span_id}
    starts = [
        found[name].start_time_unix_nano for name in ("wait", "fetch", "read", "check", "file")
    ]
    assert starts == sorted(starts)
    for span in (whole, *found.values()):
        assert attributes_of(span)["siteledger.correlation_id"] == CORRELATION_ID
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.start_time_unix_nano >= whole.start_time_unix_nano
    assert_no_personal_data(str(spans.spans))


def test_a_wakeup_carries_the_correlation_id_of_its_request(submit_cv):
    submit_cv()
    [wakeup] = OrmQ.objects.all()
    assert SignedPackage.loads(wakeup.payload)["correlation_id"] == CORRELATION_ID


def test_a_failed_request_is_a_span_with_its_error_and_a_line_with_the_wait(
    few, submit, log, spans
):
    with SamplePortal(few.directory, read_limits(few.sites), faults=1.0) as portal:
        batch = submit(few, portal)
        work_shift()
    open_traces().flush()
    errors = {
        attributes_of(span).get("siteledger.code")
        for span in spans.spans
        if span.name == "fetch" and span.status.code == 2
    }
    assert errors - {None}
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    retries = [line for line in lines if line["event"] == "document.retry_scheduled"]
    assert retries
    assert {line["batch"] for line in retries} == {batch.reference}
    assert all(line["ms"] >= 0 and line["code"] and line["attempt"] >= 1 for line in retries)
    failures = [line for line in lines if line["event"] == "document.fetch_failed"]
    assert {line["level"] for line in failures} == {"warning"}


def describe_batch(batch):
    """Return the keys that connect a line with a batch of one site."""
    packet = batch.packets.get()
    return {
        "correlation_id": str(batch.correlation_id),
        "study": packet.site.study.protocol_number,
        "site": packet.site.site_id,
        "packet": packet.reference,
        "batch": batch.reference,
    }


def test_lines_about_a_portal_have_the_ids_of_their_own_batch_and_not_of_another(log, settings):
    settings.BREAKER = BreakerSettings(failures=3)
    hour = RetryRules(reschedule_seconds=0, backoff_base_seconds=3600, backoff_cap_seconds=3600)
    settings.INGEST_LIMITS = dataclasses.replace(settings.INGEST_LIMITS, retry=hour)
    batches = [make_batch(documents=12) for _ in range(2)]
    with bound_contextvars(correlation_id=CORRELATION_ID):  # of whatever woke the shift
        work_shift()
        PortalLimitState.objects.update(probe_at=0)
        for batch in batches:
            batch.documents.update(next_attempt_at=None)
            batch.chunks.update(next_dispatch_at=timezone.now())
        work_shift()
    for batch in batches:
        own = describe_batch(batch)
        lines = [
            line
            for line in log.read_lines(
                "portal.postponed", "portal.breaker_opened", "portal.breaker_half_opened",
                "portal.waited",
            )
            if line.get("site") == own["site"]
        ]  # fmt: skip
        assert {"portal.postponed", "portal.breaker_half_opened", "portal.waited"} <= {
            line["event"] for line in lines
        }
        for line in lines:
            assert own.items() <= line.items()
            assert line["attempt"] >= 1
        limits = PortalLimitState.objects.get(portal__sites__packets__batch=batch)
        entries = list_entries(limits.subject)
        assert {entry.correlation_id for entry in entries} == {own["correlation_id"]}
    assert CORRELATION_ID not in {
        line["correlation_id"] for line in log.read_lines("portal.postponed", "portal.waited")
    }


def test_the_line_of_a_released_lease_names_study_site_batch_and_attempt(log):
    chunk, _ = make_leased(1)
    Chunk.objects.update(lease_expires_at=timezone.now() - datetime.timedelta(minutes=1))
    chunk.refresh_from_db()
    assert release_lease(chunk, by=Actor("user:7", "staff"))
    [line] = log.read_lines("chunk.released")
    assert (
        line.items()
        >= {
            "correlation_id": str(chunk.batch.correlation_id or chunk.batch.reference),
            "study": chunk.site.study.protocol_number,
            "site": chunk.site.site_id,
            "batch": chunk.batch.reference,
            "attempt": chunk.attempts,
        }.items()
    )


def test_steps_that_are_given_up_together_are_logged_in_the_name_of_no_document():
    """Steps of several documents share a transaction, which was begun by one of them."""
    contexts = []

    class RecordingDatabase:
        async def __call__(self, work, group):
            contexts.append(get_contextvars())
            return [None for _ in group]

    async def apply(document):
        with bound_contextvars(document=document):
            await batcher(None)

    async def apply_several():
        await asyncio.gather(*map(apply, ("document:1", "document:2")))

    batcher = StepBatcher(RecordingDatabase())
    asyncio.run(apply_several())
    assert contexts
    assert all("document" not in context for context in contexts)


def test_the_lines_of_a_document_count_its_attempts_in_one_way(log, settings):
    at_once = RetryRules(backoff_base_seconds=0, backoff_cap_seconds=0)
    later = RetryRules(reschedule_seconds=0, backoff_base_seconds=3600, backoff_cap_seconds=3600)
    settings.BREAKER = BreakerSettings(failures=3)
    batch = make_batch()
    settings.INGEST_LIMITS = dataclasses.replace(settings.INGEST_LIMITS, retry=at_once)
    work_shift()  # Three requests fail, which open the breaker.
    settings.INGEST_LIMITS = dataclasses.replace(settings.INGEST_LIMITS, retry=later)
    failures = log.read_lines("document.fetch_failed")
    scheduled = log.read_lines("document.retry_scheduled")
    assert [line["attempt"] for line in failures] == [1, 2, 3]
    assert [line["attempt"] for line in scheduled] == [1, 2, 3]
    Document.objects.update(failing_since=timezone.now() - datetime.timedelta(days=2))
    Document.objects.update(next_attempt_at=None)
    batch.chunks.update(next_dispatch_at=timezone.now())
    work_shift()  # The deadline has passed.
    [held] = log.read_lines("document.held")
    assert held["attempt"] == 3


def test_the_wait_for_a_portal_is_logged_for_each_chunk_together(few, submit, log):
    slow = {few.expectations[0].site_id: SiteLimit(20.0, 1)}
    with SamplePortal(few.directory, slow, faults=0) as portal:
        batch = submit(few, portal)
        Portal.objects.update(rate_per_second=20.0, burst=1)
        work_shift()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    [waited] = [line for line in lines if line["event"] == "portal.waited"]
    site = batch.documents.first().site.site_id
    assert (waited["batch"], waited["site"]) == (batch.reference, site)
    assert waited["ms"] >= 50, "three requests, with 50 ms between two of them"


def test_the_moves_of_a_breaker_are_logged(log):
    portal = make_site().portal
    portal_limit_rows.reserve_tokens(portal.pk, RequestRate.of(100.0, 10), 1)
    for _ in range(5):
        portal_limit_rows.record_outcome(portal.pk, RequestOutcome.FAILED, BreakerSettings())
    line, change = (json.loads(line) for line in log.getvalue().splitlines())
    assert change["event"] == "portal.source_changed"
    assert change["to"] == "upload"
    assert (line["event"], line["level"]) == ("portal.breaker_opened", "warning")
    assert (line["from"], line["to"], line["seq"]) == ("CLOSED", "OPEN", 1)


def test_each_decision_of_admission_is_logged(log, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    make_batch(documents=2)
    with pytest.raises(AtCapacity) as refused:
        make_batch(documents=1)
    with pytest.raises(SubmissionRefused):
        make_batch(documents=3)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert "batch.submitted" in [line["event"] for line in lines]
    refusals = [line for line in lines if line["event"] == "admission.refused"]
    assert [(line["code"], line.get("ms")) for line in refusals] == [
        ("AT_CAPACITY", refused.value.retry_after * 1000),
        ("BATCH_TOO_LARGE", None),
    ]
    assert {line["study"] for line in refusals} == {"SLX-301"}
    assert all(Site.objects.filter(site_id=line["site"]).exists() for line in refusals)


@pytest.mark.slow
def test_without_the_setting_nothing_of_opentelemetry_is_imported(settings):
    code = (
        "import sys, django; django.setup()\n"
        "from ingestion.dispatch import shift, traces\n"
        "traces.open_traces().flush()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], env=environment(settings), cwd=settings.BASE_DIR,
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert completed.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_log_of_a_real_host_follows_a_document_of_a_request(submit_cv, spans, settings, capfd):
    """A request, a queue, a cluster, its workers and their parser processes: one correlation ID."""
    document = submit_cv()
    capfd.readouterr()
    with worker_host(settings, OTEL_EXPORTER_OTLP_ENDPOINT=spans.endpoint):
        eventually(lambda: is_completed(document.batch))
        eventually(lambda: "document" in spans.of_document(document))
    document.refresh_from_db()
    own = check_lines(capfd.readouterr().err, document)
    parser = [line for line in own if line["event"].startswith("parser.")]
    assert parser, "a line that a parser process wrote"
    shift = next(line for line in own if line["event"] == "document.checking")
    assert {line["worker"] for line in parser} == {shift["worker"]}
    entries = list_entries(document.subject)
    in_log = {line["seq"] for line in own if "seq" in line}
    assert {entry.seq for entry in entries if entry.event != "document.received"} == in_log
    assert len({span.trace_id for span in spans.of_document(document).values()}) == 1
