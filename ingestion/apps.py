"""Connects ingestion to the ledger, the queue and the system checks when Django starts."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IngestionConfig(AppConfig):
    """Documents: fetched, read, checked, filed, reviewed."""

    name = "ingestion"
    verbose_name = _("Documents")

    def ready(self) -> None:
        from ingestion import registrations

        registrations.register_all()
