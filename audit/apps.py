from importlib import import_module

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate

from audit import guards, roles


class AuditConfig(AppConfig):
    """What happened, provably. Knows nothing of documents or sites: subjects are strings."""

    name = "audit"
    verbose_name = "Audit trail"

    def ready(self) -> None:
        # On SQLite a migration that alters a table rebuilds it, silently without its triggers.
        post_migrate.connect(guards.reinstall, sender=self)
        checks.register(guards.check, checks.Tags.database)
        checks.register(roles.check, checks.Tags.database)
        checks.register(roles.check_owner)
        our_checks = import_module("audit.checks")  # reads rows' modules, which are ready now
        checks.register(our_checks.check_settings)
        checks.register(our_checks.check_deployment, deploy=True)
