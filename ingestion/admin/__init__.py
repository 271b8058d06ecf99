"""Documents in the admin: to be filtered, searched and read. Nothing here changes a record."""

from ingestion.admin import documents, failures, submissions

__all__ = ["documents", "failures", "submissions"]
