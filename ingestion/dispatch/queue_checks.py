"""System checks of what carries the work: django-q2, its broker, leases, and the database."""

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
            "A shift of more than an hour is_delay_tolerant a worker from being recycled.",
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
