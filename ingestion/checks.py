"""A system check with an id for each setting of the work that can be wrong.

`manage.py check` names the setting, what is wrong with it, and what to write instead.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from ingestion.rules import types
from ingestion.scanner import scanner

# A socket's path has 107 bytes (unix(7)), and ends like "/siteledger-host-4194304-abcdefgh" and
# "/pymp-abcdefgh/listener-abcdefgh".
LONGEST_TEMPORARY = 107 - 33 - 32

AT_LEAST_ONE = ("WORKERS", "CHUNK_SIZE", "SHIFT_MAX_CHUNKS", "SHIFT_SECONDS", "HEARTBEAT_SECONDS")


@register
def check_settings(**options: Any) -> list[CheckMessage]:
    return [message for check in _CHECKS for message in check()]


def _counts() -> Iterator[CheckMessage]:
    for name in (*AT_LEAST_ONE, "MAX_UPLOAD_FILES", "MAX_DOCUMENT_MB"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E001")


def _people() -> Iterator[CheckMessage]:
    if settings.GUESS_SECONDS < 0 or settings.DIGEST_MINUTES < 0:
        yield Error(
            "GUESS_SECONDS and DIGEST_MINUTES are lengths of time: not negative.",
            hint="0 switches it off.",
            id="ingestion.E060",
        )
    if settings.EMAIL_USE_TLS and settings.EMAIL_USE_SSL:
        yield Error(
            "EMAIL_USE_TLS and EMAIL_USE_SSL exclude each other.",
            hint="TLS for STARTTLS (port 587), SSL for TLS from the first byte (port 465).",
            id="ingestion.E061",
        )
    if settings.SITE_URL and not settings.SITE_URL.startswith(("https://", "http://")):
        yield Error(
            f"SITE_URL={settings.SITE_URL} is not the address of a site.",
            hint="Write https://ledger.example.org.",
            id="ingestion.E062",
        )
    if settings.EMAIL_HOST and settings.EMAIL_TIMEOUT < 1:
        yield Error(
            "EMAIL_TIMEOUT has to be at least 1: a mail server that hangs would stop a worker.",
            id="ingestion.E063",
        )


def _programs() -> Iterator[CheckMessage]:
    for name in (
        "MAX_MANIFEST_MB",
        "WEB_THREADS",
        "API_BAD_TOKENS_PER_MINUTE",
        "READY_QUEUE_SECONDS",
        "READY_FREE_MB",
    ):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E040")


def _reviews() -> Iterator[CheckMessage]:
    if settings.REVIEW_WORKING_DAYS < 1:
        yield Error("REVIEW_WORKING_DAYS has to be at least 1.", id="ingestion.E064")


def _limits() -> Iterator[CheckMessage]:
    limits, reading = settings.INGEST_LIMITS, settings.READING_LIMITS
    for name in ("fetchers", "settlers", "fetch_tries", "document_attempts"):
        if getattr(limits, name) < 1:
            yield Error(f"{name.upper()} has to be at least 1.", id="ingestion.E002")
    if reading.processes < 1:
        yield Error("PARSER_PROCESSES has to be at least 1.", id="ingestion.E002")


def _cluster() -> Iterator[CheckMessage]:
    cluster = settings.Q_CLUSTER
    if cluster["daemonize_workers"]:
        yield Error(
            "Workers that parse need child processes, which daemons may not have.",
            hint='Set Q_CLUSTER["daemonize_workers"] to False.',
            id="ingestion.E003",
        )
    if cluster["retry"] <= cluster["timeout"]:
        yield Error(
            "The broker would deliver a shift again while it still runs.",
            hint='Q_CLUSTER["retry"] has to exceed Q_CLUSTER["timeout"].',
            id="ingestion.E004",
        )
    if (cluster["timeout"] + 3) % cluster["guard_cycle"]:
        yield Error(
            "django-q2 would never kill a hung worker.",
            hint='Q_CLUSTER["timeout"] + 3 has to be a multiple of Q_CLUSTER["guard_cycle"].',
            id="ingestion.E005",
        )
    if settings.REDIS_URL and not settings.REDIS_URL.startswith(("redis://", "rediss://", "unix:")):
        yield Error(
            "REDIS_URL is not an address of a Redis server.",
            hint="Write redis://host:6379/0, or leave it out: the database carries the rings.",
            id="ingestion.E006",
        )


def _broker() -> Iterator[CheckMessage]:
    """What django-q2 would do by itself, and must not: our rows carry the guarantees."""
    for name, value, number, why in _CLUSTER_TERMS:
        if settings.Q_CLUSTER.get(name) != value:
            yield Error(
                f'Q_CLUSTER["{name}"] is {settings.Q_CLUSTER.get(name)!r}: {why}.',
                hint=f"Set it to {value!r}.",
                id=f"ingestion.E{number}",
            )


_CLUSTER_TERMS = (
    ("queue_limit", 1, "050", "rings would wait with a busy host while another has time"),
    ("bulk", 1, "051", "rings would wait with a busy host while another has time"),
    ("max_attempts", 1, "052", "a shift that fails would be delivered again and again"),
    ("ack_failures", True, "053", "a shift that fails would be delivered again and again"),
    ("save_limit", -1, "054", "every shift would be kept, and the oldest looked for each time"),
    ("catch_up", False, "055", "housekeeping missed in a stop would be done many times over"),
    ("sync", False, "056", "submissions would work their batches themselves"),
)


def _shared() -> Iterator[CheckMessage]:
    """What the processes of a host have to see alike."""
    backend = str(settings.CACHES["default"]["BACKEND"]).rpartition(".")[2]
    if backend in {"LocMemCache", "DummyCache"}:
        yield Error(
            f"CACHES: each process would have a {backend} of its own, and see no other's.",
            hint="Use the database, a folder, Redis or memcached.",
            id="ingestion.E057",
        )
    if settings.DATABASES["default"].get("CONN_MAX_AGE") == 0:
        yield Error(
            "CONN_MAX_AGE is 0: the broker would connect anew for each of its looks.",
            hint="Set it to 60.",
            id="ingestion.E058",
        )


def _leases() -> Iterator[CheckMessage]:
    if settings.LEASE_SECONDS < 4 * settings.HEARTBEAT_SECONDS:
        yield Error(
            "A worker that misses a heartbeat would lose its lease while it still works.",
            hint="LEASE_SECONDS has to be at least four times HEARTBEAT_SECONDS.",
            id="ingestion.E007",
        )
    if settings.WATCHDOG_SECONDS < 3:
        yield Error(
            "WATCHDOG_SECONDS is less than a busy machine takes to answer a ring.",
            hint="Set it to 3 or more; 15 leaves a broker time to come back.",
            id="ingestion.E059",
        )
    if settings.SHIFT_SECONDS > 3600:
        yield checks.Warning(
            "A shift of more than an hour keeps a worker from being recycled.",
            hint="Set SHIFT_SECONDS to 3600 or less.",
            id="ingestion.W001",
        )


def _database() -> Iterator[CheckMessage]:
    database = settings.DATABASES["default"]
    options = database.get("OPTIONS", {})
    if database["ENGINE"].endswith("sqlite3"):
        is_patient = options.get("timeout", 0) >= 20
        is_immediate = options.get("transaction_mode") == "IMMEDIATE"
        is_wal = "journal_mode=wal" in options.get("init_command", "").lower()
        if not (is_patient and is_immediate and is_wal):
            yield Error(
                "SQLite without WAL, IMMEDIATE transactions and a long timeout loses work.",
                hint='OPTIONS: {"transaction_mode": "IMMEDIATE", "timeout": 30, '
                '"init_command": "PRAGMA journal_mode=WAL; ..."}.',
                id="ingestion.E008",
            )
    elif "pool" in options:
        yield Error(
            "A psycopg pool shares its sockets with forked workers, which mix up their answers.",
            hint='Remove "pool" from the database OPTIONS.',
            id="ingestion.E009",
        )


def _folders() -> Iterator[CheckMessage]:
    for name in ("ARCHIVE_DIR", "SPOOL_DIR", "PREVIEW_DIR"):
        folder = Path(getattr(settings, name))
        if folder.exists() and not folder.is_dir():
            yield Error(f"{name}={folder} is not a folder.", id="ingestion.E010")
    if Path(settings.ARCHIVE_DIR) == Path(settings.SPOOL_DIR):
        yield Error(
            "ARCHIVE_DIR and SPOOL_DIR are the same folder; the spool is emptied.",
            hint="Give each a folder of its own.",
            id="ingestion.E011",
        )
    if (length := len(os.fsencode(tempfile.gettempdir()))) > LONGEST_TEMPORARY:
        yield Error(
            f"The temporary folder's path is too long for the parsers' sockets: {length} bytes.",
            hint=f"Set TMPDIR to a folder whose path has at most {LONGEST_TEMPORARY}.",
            id="ingestion.E014",
        )


def _patience() -> Iterator[CheckMessage]:
    limits, breaker = settings.INGEST_LIMITS, settings.BREAKER
    if limits.reschedule_seconds < 0 or limits.deadline_seconds < 0:
        yield Error(
            "RESCHEDULE_SECONDS and DOCUMENT_DEADLINE_SECONDS are lengths of time: not negative.",
            id="ingestion.E020",
        )
    if breaker.failures < 1 or breaker.window_seconds <= 0 or breaker.cooldown_seconds <= 0:
        yield Error(
            "BREAKER_FAILURES, BREAKER_WINDOW_SECONDS and BREAKER_COOLDOWN_SECONDS are positive.",
            id="ingestion.E021",
        )
    if breaker.failures <= limits.fetch_tries:
        yield checks.Warning(
            "One document that its portal cannot give would stop the portal's other documents.",
            hint="BREAKER_FAILURES has to exceed FETCH_TRIES.",
            id="ingestion.W020",
        )


def _batches() -> Iterator[CheckMessage]:
    for name in ("MAX_CHUNKS", "SITE_MAX_CHUNKS", "DISPATCH_DEADLINE_SECONDS"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E040")
    for name in ("MAX_UNFINISHED_DOCUMENTS", "RETENTION_DAYS"):
        if getattr(settings, name) < 0:
            yield Error(f"{name} may not be negative; 0 means never.", id="ingestion.E041")
    if settings.INGEST_LIMITS.deadline_seconds > settings.DISPATCH_DEADLINE_SECONDS:
        yield checks.Warning(
            "A batch whose portal is down is given up before its documents are.",
            hint="DISPATCH_DEADLINE_SECONDS should not be below DOCUMENT_DEADLINE_SECONDS.",
            id="ingestion.W040",
        )


def _reading() -> Iterator[CheckMessage]:
    if settings.READING_LIMITS.engine not in {"auto", "tesserocr", "pytesseract"}:
        yield Error(
            f"OCR_ENGINE={settings.READING_LIMITS.engine!r} is not known.",
            hint="Set it to auto, tesserocr or pytesseract.",
            id="ingestion.E012",
        )
    if not settings.READING_LIMITS.languages:
        yield Error(
            "OCR_LANGUAGES is empty.", hint="Set it to eng, or eng+deu.", id="ingestion.E013"
        )


def _scanner() -> Iterator[CheckMessage]:
    try:
        scanner()
    except ValueError as error:
        yield Error(
            f"CLAMD: {error}.",
            hint="Write unix:/run/clamav/clamd.ctl or tcp://host:3310; empty means no scanner.",
            id="ingestion.E015",
        )


def _types() -> Iterator[CheckMessage]:
    if types.FAULT:
        yield Error(
            f"{types.SETTING}: {types.FAULT}",
            hint="Correct the file (docs/document-types.md), then start again.",
            id="ingestion.E016",
        )


def _portals() -> Iterator[CheckMessage]:
    if settings.INGEST_LIMITS.bytes_per_second < 1:
        yield Error("PORTAL_BYTES_PER_SECOND has to be at least 1.", id="ingestion.E030")
    folder = settings.PORTAL_SECRETS_DIR
    if folder and not Path(folder).is_dir():
        yield Error(f"PORTAL_SECRETS_DIR={folder} is not a folder.", id="ingestion.E031")
    for name, value in settings.PORTAL_SECRETS.items():
        if not name.startswith("PORTAL_SECRET_") and not Path(value).is_file():
            yield Error(
                f"{name}={value} is not a file.",
                hint="Give the path of a PEM file that the workers may read.",
                id="ingestion.E032",
            )


_CHECKS: tuple[Callable[[], Iterator[CheckMessage]], ...] = (
    _counts,
    _people,
    _programs,
    _reviews,
    _limits,
    _cluster,
    _broker,
    _shared,
    _leases,
    _database,
    _folders,
    _patience,
    _batches,
    _reading,
    _scanner,
    _types,
    _portals,
)
