"""What is connected when the app starts: the neighbours know nothing of ingestion."""

from functools import partial
from typing import Any

from django.apps import apps
from django.db.models.signals import post_migrate

from audit import anchors, jobs, log, runs, verify
from audit.export import job as export_job
from audit.export import package
from ingestion import alert_checks, bucket_checks, checks, reconcile, roles, stocktaking
from ingestion.dispatch import schedules, transport
from ingestion.review import signed
from ingestion.rules.types import RULES_VERSION
from ingestion.web.trail import office
from sites import retention


def connect() -> None:
    """Idempotent. Importing the checks registers them, and `stocktaking` its job."""
    verify.register(reconcile.rows_agree_with_the_ledger)
    verify.register(signed.decisions_are_as_signed)
    jobs.register(transport.ring_for_a_job)
    log.register_rules(RULES_VERSION)
    package.register_retention(retention.told)
    office.connect(_office())
    # The signal comes for each app, in this order: once is enough, when all else is there.
    *_, last = (app for app in apps.get_app_configs() if app.models_module)
    post_migrate.connect(_install_roles, sender=last, dispatch_uid="ingestion.roles")
    post_migrate.connect(_install_schedules, sender=last, dispatch_uid="ingestion.schedules")


def _office() -> office.Office:
    return office.Office(
        check_now=runs.check_now,
        checking=partial(jobs.find, runs.KIND),
        check=runs.find,
        checks=runs.latest,
        export=partial(jobs.ask, export_job.KIND),
        exporting=partial(jobs.find, export_job.KIND),
        exports=partial(jobs.latest, export_job.KIND),
        unanchored=anchors.unanchored,
    )


def _install_roles(**options: Any) -> None:
    roles.install()


def _install_schedules(**options: Any) -> None:
    schedules.install()


__all__ = ["alert_checks", "bucket_checks", "checks", "connect", "stocktaking"]
