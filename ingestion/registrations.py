"""Registers functions of `ingestion` with the packages below it, when the app starts.

The packages `audit` and `sites` offer hooks and never import ingestion.
"""

from typing import Any

from django.apps import apps
from django.db.models.signals import post_migrate, post_save

from audit import job_runs, outbox
from audit.export import package
from audit.ledger import log
from audit.signing import anchors
from audit.verification import verify
from ingestion import checks, job_kinds, notifications, roles
from ingestion.assessment import criteria_checks, records
from ingestion.dispatch import (
    queue_checks,
    running_tasks,
    schedules,
    task_context,
    wakeup_transport,
)
from ingestion.documents import inert_renditions, search_index
from ingestion.learning import activation
from ingestion.operations import (
    alert_checks,
    alerts,
    division_check,
    finding_check,
    reconciliation,
    rendition_check,
    scaling,
    scaling_checks,
)
from ingestion.review import signature_payload
from ingestion.rules.document_types import RULES_VERSION
from ingestion.storage import bucket_checks, object_locks
from sites import account_notices, retention
from sites.models import Study
from sites.models.legal_holds import LegalHold


def register_all() -> None:
    """Register everything. A repeated call changes nothing. System checks register on import."""
    verify.register_check(reconciliation.check_document_rows_against_ledger)
    verify.register_check(finding_check.check_findings_against_ledger)
    verify.register_check(division_check.check_divisions_against_ledger)
    verify.register_check(rendition_check.check_renditions_against_ledger)
    verify.register_check(signature_payload.verify_signed_decisions)
    verify.register_check(records.verify_assessments)
    verify.register_check(activation.verify_models)
    verify.register_check(roles.check_installed_roles)
    job_runs.register_wakeup(wakeup_transport.wake_worker_for_job)
    job_kinds.register()
    job_runs.register_kind(object_locks.JOB_KIND, object_locks.run_lock_job)
    job_runs.register_kind(inert_renditions.JOB_KIND, inert_renditions.run_rendition_job)
    outbox.register_kinds(
        anchors.KIND,
        account_notices.KIND,
        notifications.KIND,
        object_locks.KIND,
        search_index.KIND,
        inert_renditions.KIND,
        *alerts.KINDS.values(),
        *scaling.KINDS,
    )
    task_context.connect_signals()
    running_tasks.connect_signals()
    log.register_rules(RULES_VERSION)
    package.register_retention(retention.list_terms)
    post_save.connect(
        object_locks.record_study_change,
        sender=Study,
        dispatch_uid="ingestion.storage.object_locks",
    )
    post_save.connect(
        object_locks.record_hold_change,
        sender=LegalHold,
        dispatch_uid="ingestion.storage.object_locks",
    )
    # The signal is sent for each app in this order. It is handled once, for the last app, when all
    # tables exist.
    *_, last = (app for app in apps.get_app_configs() if app.models_module)
    post_migrate.connect(_install, sender=last, dispatch_uid="ingestion.registrations")


def _install(**options: Any) -> None:
    """Receive `post_migrate`: install the roles and the schedules."""
    roles.install()
    schedules.install_schedules()


__all__ = [
    "alert_checks",
    "bucket_checks",
    "checks",
    "criteria_checks",
    "queue_checks",
    "register_all",
    "scaling_checks",
]
