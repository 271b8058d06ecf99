"""Checks the settings of django-q2, its broker, the leases and the database.

Each message has a stable id and says how to correct the setting. `manage.py check` shows it.
"""

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


@register
def check_cluster(**options: Any) -> list[CheckMessage]:
    """Check how django-q2 runs and ends workers, and the address of its broker."""
    found: list[CheckMessage] = []
    cluster = settings.Q_CLUSTER
    if cluster["daemonize_workers"]:
        found.append(
            Error(
                "Workers need child processes to parse, which daemons may not have.",
                hint='Set Q_CLUSTER["daemonize_workers"] to False.',
                id="ingestion.E003",
            )
        )
    if cluster["retry"] <= cluster["timeout"]:
        found.append(
            Error(
                "The broker would deliver a shift again while it still runs.",
                hint='Q_CLUSTER["retry"] has to exceed Q_CLUSTER["timeout"].',
                id="ingestion.E004",
            )
        )
    if (cluster["timeout"] + 3) % cluster["guard_cycle"]:
        found.append(
            Error(
                "django-q2 would never kill a hung worker.",
                hint='Q_CLUSTER["timeout"] + 3 has to be a multiple of Q_CLUSTER["guard_cycle"].',
                id="ingestion.E005",
            )
        )
    if settings.REDIS_URL and not settings.REDIS_URL.startswith(("redis://", "rediss://", "unix:")):
        found.append(
            Error(
                "REDIS_URL is not an address of a Redis server.",
                hint="Write redis://host:6379/0, or leave it out: the database carries the "
                "wakeups.",
                id="ingestion.E006",
            )
        )
    return found


# Option of Q_CLUSTER, its value, the number of the check, and what another value would cause.
_BROKER_OPTIONS = (
    ("queue_limit", 1, "050", "wakeups would wait at a busy host while another host is idle"),
    ("bulk", 1, "051", "wakeups would wait at a busy host while another host is idle"),
    ("max_attempts", 1, "052", "a shift that fails would be delivered again and again"),
    ("ack_failures", True, "053", "a shift that fails would be delivered again and again"),
    ("save_limit", -1, "054", "every shift would be stored"),
    ("catch_up", False, "055", "missed housekeeping would be repeated many times"),
    ("sync", False, "056", "submissions would work on their batches themselves"),
)


@register
def check_broker_options(**options: Any) -> list[CheckMessage]:
    """Check the options with which django-q2 leaves all guarantees to the rows of SiteLedger."""
    return [
        Error(
            f'Q_CLUSTER["{name}"] is {settings.Q_CLUSTER.get(name)!r}: {reason}.',
            hint=f"Set it to {value!r}.",
            id=f"ingestion.E{number}",
        )
        for name, value, number, reason in _BROKER_OPTIONS
        if settings.Q_CLUSTER.get(name) != value
    ]


@register
def check_shared_resources(**options: Any) -> list[CheckMessage]:
    """Check the cache and the database connections, which the processes of a host share."""
    found: list[CheckMessage] = []
    backend = str(settings.CACHES["default"]["BACKEND"]).rpartition(".")[2]
    if backend in {"LocMemCache", "DummyCache"}:
        found.append(
            Error(
                f"CACHES: each process would have its own {backend} and not see the others.",
                hint="Use the database, a folder, Redis or memcached.",
                id="ingestion.E057",
            )
        )
    if settings.DATABASES["default"].get("CONN_MAX_AGE") == 0:
        found.append(
            Error(
                "CONN_MAX_AGE is 0: the broker would open a connection each time it looks for "
                "tasks.",
                hint="Set it to 60.",
                id="ingestion.E058",
            )
        )
    return found


@register
def check_leases(**options: Any) -> list[CheckMessage]:
    """Check the times of leases, heartbeats, shifts and the watchdog."""
    found: list[CheckMessage] = []
    if settings.LEASE_SECONDS < 4 * settings.HEARTBEAT_SECONDS:
        found.append(
            Error(
                "A worker that misses a heartbeat would lose its lease while it still works.",
                hint="LEASE_SECONDS has to be at least four times HEARTBEAT_SECONDS.",
                id="ingestion.E007",
            )
        )
    if settings.WATCHDOG_SECONDS < 3:
        found.append(
            Error(
                "WATCHDOG_SECONDS is less than a busy machine needs to answer a wakeup.",
                hint="Set it to 3 or more; 15 leaves a broker time to restart.",
                id="ingestion.E059",
            )
        )
    if settings.SHIFT_SECONDS > 3600:
        found.append(
            checks.Warning(
                "A shift of more than an hour keeps a worker from being recycled.",
                hint="Set SHIFT_SECONDS to 3600 or less.",
                id="ingestion.W001",
            )
        )
    return found


@register
def check_database(**options: Any) -> list[CheckMessage]:
    """Check the database's options, without which SQLite or forked workers would lose work."""
    database = settings.DATABASES["default"]
    given = database.get("OPTIONS", {})
    if database["ENGINE"].endswith("sqlite3"):
        has_timeout = given.get("timeout", 0) >= 20  # seconds
        is_immediate = given.get("transaction_mode") == "IMMEDIATE"
        is_wal = "journal_mode=wal" in given.get("init_command", "").lower()
        if not (has_timeout and is_immediate and is_wal):
            return [
                Error(
                    "SQLite without WAL, IMMEDIATE transactions and a long timeout loses work.",
                    hint='OPTIONS: {"transaction_mode": "IMMEDIATE", "timeout": 30, '
                    '"init_command": "PRAGMA journal_mode=WAL; ..."}.',
                    id="ingestion.E008",
                )
            ]
    elif "pool" in given:
        return [
            Error(
                "A psycopg pool shares its sockets with forked workers, which would mix up "
                "answers.",
                hint='Remove "pool" from the database OPTIONS.',
                id="ingestion.E009",
            )
        ]
    return []
