"""Registers what the ledger checks and signs when Django starts (label `audit`)."""

from importlib import import_module

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from audit.ledger import append_only, database_roles


class AuditConfig(AppConfig):
    """What happened, provably. Knows nothing of documents or sites: subjects are strings."""

    name = "audit"
    verbose_name = _("Audit trail")

    def ready(self) -> None:
        # On SQLite a migration that alters a table rebuilds it, silently without its triggers.
        post_migrate.connect(append_only.reinstall_triggers, sender=self)
        checks.register(append_only.check_triggers, checks.Tags.database)
        checks.register(database_roles.check_application_role, checks.Tags.database)
        checks.register(database_roles.check_owner_url)
        our_checks = import_module("audit.checks")  # reads rows' modules, which are ready now
        checks.register(our_checks.check_settings)
        checks.register(our_checks.check_deployment, deploy=True)
