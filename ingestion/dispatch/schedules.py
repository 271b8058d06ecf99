"""What is done again and again beside the work. django-q2 looks at it every 30 seconds.

Housekeeping only: whatever the work itself relies on is done by the hosts' own loop. To add a job,
write a function in `ingestion.tasks` and a line here; the next `migrate` puts it in place.
"""

from collections.abc import Mapping

from django.db import connection
from django_q.models import Schedule

PREFIX = "siteledger: "  # what carries it and is not listed is removed

# A function, and every how many minutes it is called.
SCHEDULES: Mapping[str, tuple[str, int]] = {
    "purge rings": ("ingestion.tasks.purge_rings", 15),
    "count what sites lack": ("ingestion.tasks.summarise_sites", 5),
    "prune finished batches": ("ingestion.tasks.prune", 24 * 60),
    "note what runs out": ("ingestion.tasks.note_expiries", 24 * 60),
    "verify the ledger": ("ingestion.tasks.verify_ledger", 24 * 60),
    "verify the archive": ("ingestion.tasks.verify_archive", 24 * 60),
    "follow locks": ("ingestion.tasks.follow_locks", 24 * 60),
    "mail digests": ("ingestion.tasks.send_digests", 5),
    "clear expired sign-ins": ("ingestion.tasks.clear_sessions", 24 * 60),
}


def install_schedules() -> None:
    """Idempotent, and leaves the next run of what is there alone."""
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return  # a partial migration: the next one calls again
    names = [f"{PREFIX}{name}" for name in SCHEDULES]
    Schedule.objects.filter(name__startswith=PREFIX).exclude(name__in=names).delete()
    for name, (function, minutes) in SCHEDULES.items():
        terms = {"func": function, "schedule_type": Schedule.MINUTES, "minutes": minutes}
        Schedule.objects.update_or_create(name=f"{PREFIX}{name}", defaults=terms | {"repeats": -1})
