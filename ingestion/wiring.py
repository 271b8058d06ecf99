"""What is connected when the app starts: the neighbours know nothing of ingestion."""

from typing import Any

from django.db.models.signals import post_migrate

from audit import jobs, log, verify
from ingestion import checks, reconcile, roles, stocktaking
from ingestion.dispatch import schedules, transport
from ingestion.rules.types import RULES_VERSION


def connect() -> None:
    """Idempotent. Importing `checks` registers the system checks, `stocktaking` its job."""
    verify.register(reconcile.rows_agree_with_the_ledger)
    jobs.register(transport.ring_for_a_job)
    log.register_rules(RULES_VERSION)
    post_migrate.connect(_install_roles, dispatch_uid="ingestion.roles")
    post_migrate.connect(_install_schedules, dispatch_uid="ingestion.schedules")


def _install_roles(**options: Any) -> None:
    roles.install()


def _install_schedules(**options: Any) -> None:
    schedules.install()


__all__ = ["checks", "connect", "stocktaking"]
