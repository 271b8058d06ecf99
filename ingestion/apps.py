from django.apps import AppConfig


class IngestionConfig(AppConfig):
    """Documents: fetched, read, checked, filed, reviewed."""

    name = "ingestion"
    verbose_name = "Documents"

    def ready(self) -> None:
        from ingestion import registrations

        registrations.connect()
