"""Defines the periodic housekeeping tasks, which django-q2 starts.

django-q2 looks for due tasks every 30 seconds. Work that documents wait for is done in the ticks of
`processes.worker_host` instead. To add a task, write a function in `ingestion.tasks` and a line
here; the next `migrate` installs it.
"""

from collections.abc import Mapping

from django.db import connection
from django_q.models import Schedule

PREFIX = "siteledger: "  # `install_schedules` removes other schedules with this prefix

# The name of a schedule, its function, and the minutes between two calls.
SCHEDULES: Mapping[str, tuple[str, int]] = {
    "purge wakeups": ("ingestion.tasks.purge_wakeups", 15),
    "count what sites lack": ("ingestion.tasks.summarise_sites", 5),
    "prune finished batches": ("ingestion.tasks.prune", 24 * 60),
    "record expiries": ("ingestion.tasks.note_expiries", 24 * 60),
    "verify the ledger": ("ingestion.tasks.verify_ledger", 24 * 60),
    "verify the archive": ("ingestion.tasks.verify_archive", 24 * 60),
    "follow locks": ("ingestion.tasks.follow_locks", 24 * 60),
    "retry lock changes": ("ingestion.tasks.retry_lock_changes", 5),
    "retry inert renditions": ("ingestion.tasks.retry_inert_renditions", 5),
    "read installed languages": ("ingestion.tasks.retry_installed_languages", 5),
    "ask approved portals": ("ingestion.tasks.retry_approved_portals", 5),
    "learn from decisions": ("ingestion.tasks.learn_from_decisions", 24 * 60),
    "mail digests": ("ingestion.tasks.send_digests", 5),
    "clear expired sign-ins": ("ingestion.tasks.clear_sessions", 24 * 60),
}


def install_schedules() -> None:
    """Install the schedules, and remove those that are not listed any more.

    A schedule that exists keeps the time of its next run.
    """
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return  # django-q2 is not migrated yet. The next migration calls this function again.
    names = [f"{PREFIX}{name}" for name in SCHEDULES]
    Schedule.objects.filter(name__startswith=PREFIX).exclude(name__in=names).delete()
    for name, (function, minutes) in SCHEDULES.items():
        terms = {"func": function, "schedule_type": Schedule.MINUTES, "minutes": minutes}
        Schedule.objects.update_or_create(name=f"{PREFIX}{name}", defaults=terms | {"repeats": -1})
