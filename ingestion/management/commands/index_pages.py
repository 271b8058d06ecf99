"""Indexes documents of earlier releases for the full-text search."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DEFAULT_DB_ALIAS, connection

from audit.ledger import database_roles
from ingestion.documents import search_index
from ingestion.models import Document
from ingestion.search import indexes


class Command(BaseCommand):
    help = (
        "Indexes the pages of documents that were read and are not in the index of the search yet, "
        "such as those of earlier releases. It may be interrupted and repeated. OCR does not run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--rebuild",
            action="store_true",
            help="Also index the documents that are in the index already.",
        )

    def handle(self, *_args: Any, rebuild: bool, **_options: Any) -> None:
        if connection.vendor == "postgresql":
            # The index of trigrams may be missing, if its extension was installed later.
            with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
                if not indexes.create_trigram_index(connection):
                    self.stderr.write(
                        "The extension pg_trgm is missing, so only one wrong letter is forgiven."
                    )
        rows = (
            Document.objects.exclude(extractions=None) if rebuild else search_index.find_unindexed()
        )
        keys = list(rows.order_by("-pk").values_list("pk", flat=True).distinct())
        indexed = 0
        for at in range(0, len(keys), search_index.DOCUMENTS_PER_STEP):
            some = keys[at : at + search_index.DOCUMENTS_PER_STEP]
            indexed += search_index.index_documents(list(Document.objects.filter(pk__in=some)))
            self.stdout.write(f"{min(at + len(some), len(keys))} of {len(keys)} documents")
        self.stdout.write(f"Indexed: {indexed}. Left out: {len(keys) - indexed}.")
