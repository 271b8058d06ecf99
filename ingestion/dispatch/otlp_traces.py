"""Implements `DocumentTraces` with OpenTelemetry's SDK and its OTLP/HTTP exporter.

The exporter sends batches in a thread of its own, so a slow receiver delays no document. What
cannot be sent is dropped, and the log says so.
"""

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from multiprocessing.util import Finalize

from django.conf import settings
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from ingestion.core.document_stages import DocumentStage
from ingestion.core.ports import WorkItem
from ingestion.core.states import DocumentState

SEND_INTERVAL_SECONDS = 1.0
FLUSH_SECONDS = 3.0  # for which the end of a process waits for the receiver
EXPORT_TIMEOUT_SECONDS = 5.0  # of one request to the receiver
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_given_ids: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)


class _GivenIds(RandomIdGenerator):
    """Generates random IDs, unless those of the span of a document are given."""

    def generate_trace_id(self) -> int:
        given = _given_ids.get()
        return given[0] if given else super().generate_trace_id()

    def generate_span_id(self) -> int:
        given = _given_ids.get()
        return given[1] if given else super().generate_span_id()


class OtlpTraces:
    """Sends spans to an OTLP/HTTP receiver. One instance serves all shifts of a process."""

    def __init__(self, endpoint: str) -> None:
        names = {"service.name": "siteledger", "service.version": settings.SOFTWARE_VERSION}
        self._provider = TracerProvider(
            resource=Resource.create(names), id_generator=_GivenIds(), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(f"{endpoint}/v1/traces", timeout=EXPORT_TIMEOUT_SECONDS)
        delay_ms = round(SEND_INTERVAL_SECONDS * 1000)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=delay_ms)
        )
        Finalize(None, self.flush, exitpriority=0)  # when a worker ends, which calls no atexit
        self._tracer = self._provider.get_tracer("siteledger")

    def add_stage(self, item: WorkItem, stage: DocumentStage) -> None:
        """Add the span of a stage to the trace of a document."""
        trace_id, span_id = compute_trace_ids(item)
        context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=_SAMPLED)
        attributes = {**_describe(item), **({"siteledger.code": stage.code} if stage.code else {})}
        span = self._tracer.start_span(
            str(stage.name),
            trace.set_span_in_context(NonRecordingSpan(context)),
            attributes=attributes,
            start_time=stage.started_ns,
        )
        if stage.code:
            span.set_status(Status(StatusCode.ERROR))
        span.end(stage.ended_ns)

    def end_document(self, item: WorkItem, state: DocumentState) -> None:
        """Add the span of the whole document, which a shift has settled."""
        token = _given_ids.set(compute_trace_ids(item))
        try:
            span = self._tracer.start_span(
                "document",
                trace.set_span_in_context(trace.INVALID_SPAN),
                attributes={**_describe(item), "siteledger.to": str(state)},
                start_time=item.received_ns,
            )
            span.end()
        finally:
            _given_ids.reset(token)

    def flush(self) -> None:
        """Send what was added, and wait for it, before the process ends.

        It takes FLUSH_SECONDS or EXPORT_TIMEOUT_SECONDS at most.
        """
        self._provider.force_flush(round(FLUSH_SECONDS * 1000))


def _describe(item: WorkItem) -> Mapping[str, str | int]:
    return {f"siteledger.{key}": value for key, value in item.log_facts.items() if value}


def compute_trace_ids(item: WorkItem) -> tuple[int, int]:
    """Return the ID of the document's trace, and of the span of the whole document."""
    digest = hashlib.sha256(f"{item.correlation_id} {item.document}".encode()).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
