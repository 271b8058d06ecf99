"""The bounds of the ingestion core. Built once, in the settings, and passed down."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    fetchers: int = 16  # documents being fetched at a time, over all sites
    settlers: int = 16  # documents being read and filed at a time; of scans the pool takes fewer
    lane_depth: int = 4  # documents of one portal that wait in memory; its feed blocks beyond it
    connect_seconds: float = 10.0
    read_seconds: float = 30.0  # longest silence of a portal in mid-answer
    fetch_seconds: float = 60.0  # one request, before the time that its size allows it
    bytes_per_second: int = 16_000  # slower than this over a window is a dead portal
    pace_seconds: float = 20.0  # that window
    fetch_tries: int = 4  # failed while its portal gave others: it is not to be had
    backoff_base_seconds: float = 0.5
    backoff_cap_seconds: float = 30.0
    patient_cap_seconds: float = 600.0  # the same, for what only the deadline ends
    retry_after_cap_seconds: float = 21_600.0  # a portal that asks for more gets this much
    reschedule_seconds: float = 5.0  # a longer wait gives slot and worker back
    deadline_seconds: float = 86_400.0  # since a document's first failure, until it is held
    max_bytes: int = 50_000_000  # one document
    document_attempts: int = 5  # times a document is taken up before it counts as poison
    drain_seconds: float = 20.0  # after a stop: what is in hand may finish
