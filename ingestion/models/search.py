"""Stores the index of the full-text search: derived data, which can be built again at any time.

Each database has a full-text index of its own beside these tables (`ingestion.search.indexes`).
"""

from django.db import models

from ingestion.models.documents import Document
from sites.models import Site


class IndexedPage(models.Model):
    """Stores the words of one page of a document, as they are searched.

    On PostgreSQL, the table has a column `tokens` (tsvector), which the ORM does not know.
    """

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="indexed_pages")
    # The site of the document, which never changes. It is here so that a search by site is quick.
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="+", db_index=False)
    page = models.PositiveIntegerField()  # of the file, from 1
    words = models.BinaryField()  # see `reading.provenance.unpack_page_words`

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "page"], name="a_page_is_indexed_once")
        ]
        indexes = [models.Index(fields=["site", "id"], name="indexed_pages_of_a_site")]

    def __str__(self) -> str:
        return f"{self.document_id}, page {self.page}"


class IndexedWord(models.Model):
    """Stores a word that is on at least one indexed page, for finding similar words."""

    word = models.CharField(max_length=64, primary_key=True)

    def __str__(self) -> str:
        return self.word


class RemovedWords(models.Model):
    """Stores an area of a page whose words must not be found, even if the index is built again.

    It applies to a file and to all its parts. An area of None is the whole page.
    """

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="removed_words")
    page = models.PositiveIntegerField()  # of the file, from 1
    area = models.JSONField(null=True, blank=True)  # left, top, right and bottom in points

    class Meta:
        indexes = [models.Index(fields=["document", "page"], name="removed_words_of_a_page")]

    def __str__(self) -> str:
        return f"{self.document_id}, page {self.page}"
