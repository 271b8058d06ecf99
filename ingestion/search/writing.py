"""Writes the index of pages, and removes words from it.

Rows are written in the transaction that records the reading. They are deleted when nobody may find
the document by its words: in quarantine, as a repetition of another document, and after it was
cancelled. `remove_words` removes areas of pages for ever, for a redaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from ingestion.core.file_parts import Region
from ingestion.models import Document, IndexedPage, RemovedWords
from ingestion.reading.provenance import PlacedWord, pack_page_words, unpack_page_words
from ingestion.reading.results import Box
from ingestion.search import indexes
from ingestion.search.tokens import list_vocabulary, tokenise

REBUILD_KIND = "search_index"  # of messages of the outbox: a document has to be indexed again


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read, with its size in points (0 if unknown)."""

    number: int  # in the file, from 1
    words: bytes  # `reading.provenance.pack_page_words`
    width: float = 0.0
    height: float = 0.0


@transaction.atomic(savepoint=False)
def replace_pages(documents: Sequence[tuple[Document, Sequence[ReadPage]]]) -> None:
    """Index these pages of documents, in the place of all that was indexed of them before.

    Call it with the documents locked. Words that were removed stay removed. If a
    document is a region of a page, only the words of that region are indexed.
    """
    delete_pages([document.pk for document, _ in documents])
    rows, vocabulary = [], set[str]()
    files = {document.pk: _find_file(document) for document, _ in documents}
    removed_of_files = _list_removed_areas(files.values())
    for document, pages in documents:
        removed = removed_of_files[files[document.pk]]
        part = document.file_part
        for page in pages:
            packed, words = page.words, None
            if page.number in removed or (part and part.region):
                words = unpack_page_words(page.words)
                if part and part.region:
                    words = _select_region(words, page, part.region)
                words = _leave_out(words, removed.get(page.number, ()))
                packed = pack_page_words(words)
            if words is None:
                words = unpack_page_words(packed)
            tokens = [each.text for each in tokenise(words)]
            vocabulary |= list_vocabulary(tokens)
            rows.append(indexes.PageRow(document.pk, document.site_id, page.number, packed, tokens))
    if rows:
        indexes.insert_pages(rows)
        indexes.insert_words(vocabulary)


@transaction.atomic(savepoint=False)
def delete_pages(documents: Sequence[int], *, keep: Iterable[int] = ()) -> None:
    """Delete the rows of documents, except those of pages to `keep`, and words that are unused."""
    rows = IndexedPage.objects.filter(document__in=documents).exclude(page__in=list(keep))
    found = list(rows.values_list("pk", "words"))
    if not found:
        return
    words = set[str]()
    for _, packed in found:
        words |= list_vocabulary(token.text for token in tokenise(unpack_page_words(bytes(packed))))
    with indexes.overwrite_deleted():
        pages = [pk for pk, _ in found]
        IndexedPage.objects.filter(pk__in=pages).delete()
        indexes.delete_unused_words(words)


def remove_words(
    document: Document, areas: Mapping[int, Sequence[Box] | None], *, purge: bool = True
) -> None:
    """Remove the words of areas of pages from the index, for ever.

    `areas` has boxes in points by the number of the page in the file; None removes the whole page.
    A word is removed if any part of it is in an area, and words of a page whose place is unknown
    are removed with any area of it. The removal applies to the file and to all parts of it, and
    to everything that is indexed later of them and of files with the same bytes. With `purge`,
    SQLite removes the words from its file at once, which takes long for a large index. See
    `indexes.purge_deleted` for what remains.

    The original, its extraction and the ledger are not changed.
    """
    file = _find_file(document)
    with transaction.atomic():
        RemovedWords.objects.bulk_create(
            RemovedWords(document_id=file, page=page, area=list(box) if box else None)
            for page, boxes in areas.items()
            for box in ([None] if boxes is None else boxes)
        )
        family = _list_family(file)
        rows = IndexedPage.objects.filter(document__in=family, page__in=list(areas))
        kept, words_before = [], set[str]()
        removed = _list_removed_areas([file])[file]
        for row in list(rows):
            words = unpack_page_words(bytes(row.words))
            words_before |= list_vocabulary(token.text for token in tokenise(words))
            words = _leave_out(words, removed[row.page])
            tokens = [each.text for each in tokenise(words)]
            packed = pack_page_words(words)
            kept.append(indexes.PageRow(row.document_id, row.site_id, row.page, packed, tokens))
        with indexes.overwrite_deleted():
            pages = list(rows.values_list("pk", flat=True))
            IndexedPage.objects.filter(pk__in=pages).delete()
            indexes.insert_pages(kept)
            indexes.delete_unused_words(words_before)
            if purge:
                indexes.purge_deleted()


def _find_file(document: Document) -> int:
    """Return the primary key of the file whose pages a document has.

    A document that was an entry of a container is a file of its own.
    """
    while document.has_pages_of_a_file and document.part_of is not None:
        document = document.part_of
    return document.pk


def _list_family(file: int) -> list[int]:
    """Return the file and all its parts, and the parts of those."""
    family, new = [file], [file]
    while new:
        parts = Document.objects.filter(part_of__in=new, first_page__gt=0)
        new = list(parts.values_list("pk", flat=True))
        family += new
    return family


def _list_removed_areas(files: Iterable[int]) -> dict[int, dict[int, list[Box | None]]]:
    """Return the removed areas of the pages of each file, and of files with the same bytes."""
    removed: dict[int, dict[int, list[Box | None]]] = {file: {} for file in files}
    of_bytes: dict[str, list[int]] = {}
    for file, sha256 in Document.objects.filter(pk__in=removed).values_list("pk", "sha256"):
        of_bytes.setdefault(sha256 or f"{file}", []).append(file)
    own = Q(document__in=removed) | Q(document__sha256__in=[each for each in of_bytes if each])
    for row in RemovedWords.objects.filter(own).select_related("document"):
        area = Box(*row.area) if row.area else None
        for file in {row.document_id, *of_bytes.get(row.document.sha256, ())} & removed.keys():
            removed[file].setdefault(row.page, []).append(area)
    return removed


def _leave_out(words: Sequence[PlacedWord], areas: Iterable[Box | None]) -> list[PlacedWord]:
    """Return the words that are in no area. An area of None is the whole page."""
    areas = list(areas)
    if not areas:
        return list(words)
    boxes = [box for box in areas if box]
    if len(boxes) < len(areas):
        return []
    return [
        word for word in words if word.box and not any(word.box.intersects(box) for box in boxes)
    ]


def _select_region(words: Sequence[PlacedWord], page: ReadPage, region: Region) -> list[PlacedWord]:
    """Return the words whose centre is in a region of the page; none if it is unknown."""
    left, top, right, bottom = region
    width, height = page.width, page.height
    area = Box(left * width, top * height, right * width, bottom * height)
    return [word for word in words if word.box and area.contains_centre_of(word.box)]
