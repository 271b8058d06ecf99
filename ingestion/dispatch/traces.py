"""Sends a trace of each document to an OpenTelemetry receiver, if the settings name one.

The trace has one span for the document, from its arrival until a shift settles it, and in it a span
for each stage (`ingestion.core.document_stages`). Its IDs follow from the document's correlation ID
and primary key, so that all shifts and hosts continue the same trace without passing it on. The
attributes are the keys of the log, without personal data (docs/logs.md).

OpenTelemetry is imported only if OTEL_EXPORTER_OTLP_ENDPOINT is set.
"""

from functools import cache
from typing import Protocol

from django.conf import settings

from ingestion.core.document_stages import DocumentStage
from ingestion.core.ports import WorkItem
from ingestion.core.states import DocumentState


class DocumentTraces(Protocol):
    """Receives the stages of documents. No method blocks for long or raises."""

    def add_stage(self, item: WorkItem, stage: DocumentStage) -> None:
        """Add the span of a stage to the trace of a document."""
        ...

    def end_document(self, item: WorkItem, state: DocumentState) -> None:
        """Add the span of the whole document, which a shift has settled."""
        ...

    def flush(self) -> None:
        """Send what was added, and wait a few seconds at most, before the process ends."""
        ...


class NoTraces:
    """Sends nothing, because no receiver is configured."""

    def add_stage(self, item: WorkItem, stage: DocumentStage) -> None:
        """Do nothing."""

    def end_document(self, item: WorkItem, state: DocumentState) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""


def open_traces() -> DocumentTraces:
    """Return the traces of this process, which the settings choose."""
    return _open_traces(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


@cache
def _open_traces(endpoint: str) -> DocumentTraces:
    if not endpoint:
        return NoTraces()
    from ingestion.dispatch.otlp_traces import OtlpTraces  # noqa: PLC0415 - an optional package

    return OtlpTraces(endpoint)
