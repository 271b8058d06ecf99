"""Defines the limits of the ingestion core. `config.settings` builds them once."""

from dataclasses import dataclass, field

from ingestion.core.retry import RetryRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits how much the core does at once, and how long. Times are in seconds."""

    fetchers: int = 16  # documents that are fetched at the same time, over all sites
    settlers: int = 16  # documents that are parsed and filed at the same time
    queue_depth: int = 4  # documents of one portal that wait in memory; then feeding it blocks
    connect_seconds: float = 10.0
    read_seconds: float = 30.0  # longest pause within the answer of a portal
    fetch_seconds: float = 60.0  # one request, without the time that its size adds
    bytes_per_second: int = 16_000  # a portal that is slower over the window counts as failed
    pace_seconds: float = 20.0  # length of that window
    max_bytes: int = 50_000_000  # one document
    document_attempts: int = 5  # attempts before a document counts as a poison message
    drain_seconds: float = 20.0  # documents in work may finish within this time after a stop
    retry: RetryRules = field(default_factory=RetryRules)
