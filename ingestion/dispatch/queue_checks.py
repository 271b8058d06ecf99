"""Checks the settings of django-q2, its broker, the leases and the database."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


@register
def check_queue(**options: Any) -> list[CheckMessage]:
    return [*_cluster(), *_broker(), *_shared(), *_leases(), *_database()]


def _cluster() -> Iterator[CheckMessage]:
    cluster = settings.Q_CLUSTER
    if cluster["daemonize_workers"]:
        yield Error(
            "Workers need child processes to parse, which daemons may not have.",
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
            hint="Write redis://host:6379/0, or leave it out: the database carries the wakeups.",
            id="ingestion.E006",
        )


def _broker() -> Iterator[CheckMessage]:
    """Check the options with which django-q2 leaves the guarantees to the rows of SiteLedger."""
    for name, value, number, reason in _CLUSTER_OPTIONS:
        if settings.Q_CLUSTER.get(name) != value:
            yield Error(
                f'Q_CLUSTER["{name}"] is {settings.Q_CLUSTER.get(name)!r}: {reason}.',
                hint=f"Set it to {value!r}.",
                id=f"ingestion.E{number}",
            )


_CLUSTER_OPTIONS = (
    ("queue_limit", 1, "050", "wakeups would wait at a busy host while another host is idle"),
    ("bulk", 1, "051", "wakeups would wait at a busy host while another host is idle"),
    ("max_attempts", 1, "052", "a shift that fails would be delivered again and again"),
    ("ack_failures", True, "053", "a shift that fails would be delivered again and again"),
    (
        "save_limit",
        -1,
        "054",
        "every shift would be stored",
    ),
    (
        "catch_up",
        False,
        "055",
        "missed housekeeping would be repeated many times",
    ),
    ("sync", False, "056", "submissions would work on their batches themselves"),
)


def _shared() -> Iterator[CheckMessage]:
    """Check what the processes of a host share."""
    backend = str(settings.CACHES["default"]["BACKEND"]).rpartition(".")[2]
    if backend in {"LocMemCache", "DummyCache"}:
        yield Error(
            f"CACHES: each process would have its own {backend} and not see the others.",
            hint="Use the database, a folder, Redis or memcached.",
            id="ingestion.E057",
        )
    if settings.DATABASES["default"].get("CONN_MAX_AGE") == 0:
        yield Error(
            "CONN_MAX_AGE is 0: the broker would open a connection each time it looks for tasks.",
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
            "WATCHDOG_SECONDS is less than a busy machine needs to answer a wakeup.",
            hint="Set it to 3 or more; 15 leaves a broker time to restart.",
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
            "A psycopg pool shares its sockets with forked workers, which would mix up answers.",
            hint='Remove "pool" from the database OPTIONS.',
            id="ingestion.E009",
        )
