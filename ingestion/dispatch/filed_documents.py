"""Finds filed documents with the same bytes, so that the same bytes are filed once.

Decision 12 defines what repeats what: a portal's document repeats a filed document of its site only
if both have the same doc_id; an upload repeats one with any doc_id. Of two parts of files, both
have to have the same bytes and the same pages; a part never repeats a whole file.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple, Self

from django.db import connection

from ingestion.models import Document


class FiledDocument(NamedTuple):
    """Describes a filed document.

    An instance of the model would take four times as long to create.
    """

    pk: int
    site: int  # primary key
    sha256: str
    doc_id: str
    size: int | None  # bytes
    packet: str  # reference; "" for a document that was filed in this transaction
    # Of a part of a file; 0, 0 and "" for a whole file.
    first_page: int
    last_page: int
    region: str

    @property
    def pages(self) -> tuple[int, int, str]:
        """Return the first page, the last page and the region of the file that the document has."""
        return self.first_page, self.last_page, self.region


_COLUMNS = (
    "pk", "site", "sha256", "doc_id", "size", "packet__reference", "first_page", "last_page",
    "region",
)  # fmt: skip


@cache
def _find_query(sites: int, hashes: int) -> tuple[str, tuple[str, ...]]:
    """Return SQL that finds filed documents by so many sites and hashes.

    The second value holds the parameters that precede the sites and hashes. The text depends on the
    two numbers only and is cached, because this query runs with most steps of a worker.
    """
    of_sites = Document.objects.on_file().order_by().filter(site__in=range(sites))
    same = of_sites.filter(sha256__in=map(str, range(hashes)))
    query, parameters = same.values_list(*_COLUMNS).query.sql_with_params()
    return query, parameters[: -(sites + hashes)]


class FiledDocuments:
    """Holds filed documents that the documents of one transaction may repeat."""

    def __init__(self, filed: Iterable[FiledDocument]) -> None:
        self._filed: defaultdict[tuple[int, str], list[FiledDocument]] = defaultdict(list)
        for each in filed:
            self._filed[each.site, each.sha256].append(each)

    @classmethod
    def find(cls, documents: Iterable[Document], hashes: Collection[str]) -> Self:
        """Return the filed documents of the same sites that have one of the SHA-256 hashes."""
        if not hashes:
            return cls(())
        sites = {document.site_id for document in documents}
        query, states = _find_query(len(sites), len(hashes))
        with connection.cursor() as cursor:
            cursor.execute(query, (*states, *sites, *hashes))
            return cls(FiledDocument(*row) for row in cursor.fetchall())

    def find_twin(self, document: Document) -> FiledDocument | None:
        """Return the filed document that this one repeats, or None."""
        for filed in self._filed[document.site_id, document.sha256]:
            is_same = not document.url or filed.doc_id == document.doc_id
            if is_same and filed.pages == _pages_of(document) and filed.pk != document.pk:
                return filed
        return None

    def find_other_name(self, document: Document) -> FiledDocument | None:
        """Return a filed document with the same bytes and another doc_id, or None.

        A portal's document is filed under each of its names, with a finding that names the other
        one.
        """
        same = self._filed[document.site_id, document.sha256]
        pages = _pages_of(document)
        others = (each for each in same if each.pages == pages and each.doc_id != document.doc_id)
        return next(others, None)

    def add(self, document: Document) -> None:
        """Add a document that was just filed, because the next step may repeat it."""
        site, sha256 = document.site_id, document.sha256
        filed = FiledDocument(
            document.pk, site, sha256, document.doc_id, document.size, "", *_pages_of(document)
        )
        self._filed[site, sha256].append(filed)


def _pages_of(document: Document) -> tuple[int, int, str]:
    return document.first_page, document.last_page, document.region
