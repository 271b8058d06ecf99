"""Registers the system checks and the triggers of the ledger when Django starts."""

from importlib import import_module

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from audit import translation
from audit.ledger import append_only, database_roles


class AuditConfig(AppConfig):
    """The audit trail. It knows neither documents nor sites: subjects are strings."""

    name = "audit"
    verbose_name = _("Audit trail")

    def ready(self) -> None:
        translation.use_translation(gettext, ngettext)
        # A migration that alters a table on SQLite rebuilds it without its triggers.
        post_migrate.connect(append_only.reinstall_triggers, sender=self)
        checks.register(append_only.check_triggers, checks.Tags.database)
        checks.register(database_roles.check_application_role, checks.Tags.database)
        checks.register(database_roles.check_owner_url)
        our_checks = import_module("audit.checks")  # imports models, which are loaded now
        checks.register(our_checks.check_settings)
        checks.register(our_checks.check_deployment, deploy=True)
