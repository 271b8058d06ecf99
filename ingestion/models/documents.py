"""Defines documents and their findings. A document is a file, or a part of a file."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Self

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy
from structlog.contextvars import get_contextvars

from audit.ledger.recorded_row import RecordedRow
from ingestion.core.container_entries import EntryUse
from ingestion.core.file_parts import FilePart, PageUse
from ingestion.core.states import STATES_NEEDING_SITE, UNSETTLED_STATES, ChunkState, DocumentState
from ingestion.models.batches import Batch, Chunk, Packet
from ingestion.models.choices import list_state_choices
from ingestion.rules.document_types import TYPES, parse_doc_id
from sites.models import Site, User, make_visibility_filter

MAX_DOC_ID_LENGTH = 120  # characters of a doc_id as it is submitted


class DocumentQuerySet(models.QuerySet["Document"]):
    """Selects documents by their state and by the person who can see them."""

    def visible_to(self, user: User) -> Self:
        """Return the documents of the sites that the user may see."""
        return self.filter(make_visibility_filter(user, "site"))

    def unsettled(self) -> Self:
        """Return documents that workers have not finished."""
        return self.filter(state__in=UNSETTLED_STATES)

    def waiting(self) -> Self:
        """Return documents that are registered and not fetched yet."""
        return self.filter(state=DocumentState.RECEIVED)

    def due(self, at: datetime) -> Self:
        """Return documents that a worker may fetch now."""
        return self.waiting().filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=at))

    def needing_site(self) -> Self:
        """Return documents that the site has to replace and has not replaced, oldest first."""
        sent = self.model.objects.exclude(state=DocumentState.CANCELLED)
        newer = sent.filter(site=OuterRef("site"), doc_id=OuterRef("doc_id"), pk__gt=OuterRef("pk"))
        # A newer version of the file replaces all parts of the older one.
        newer_file = sent.filter(
            site=OuterRef("site"),
            doc_id=OuterRef("part_of__doc_id"),
            pk__gt=OuterRef("part_of"),
        )
        corrections = sent.filter(corrects=OuterRef("pk"))
        is_replaced = Exists(newer) | Exists(newer_file) | Exists(corrections)
        return self.filter(~is_replaced, state__in=STATES_NEEDING_SITE).order_by("pk")

    def held(self) -> Self:
        """Return documents that are held because of SiteLedger or a portal."""
        return self.filter(state=DocumentState.HELD)

    def on_file(self) -> Self:
        """Return the documents that are filed."""
        return self.filter(state=DocumentState.ARCHIVED)

    def files(self) -> Self:
        """Return the rows of files as they were received. Parts of files are left out."""
        return self.filter(part_of=None)

    def with_etag(self) -> Self:
        """Return documents with an ETag, for which a portal can be asked whether they changed."""
        return self.exclude(etag="")

    def lock_leased(self, leases: Mapping[int, uuid.UUID]) -> "dict[int, Document]":
        """Lock the documents whose chunk is held under their lease, and return them by primary key.

        `leases` maps the primary keys of documents to leases. Documents and chunks are locked until
        the transaction ends, chunk by chunk, and a chunk before its documents: every process locks
        in this order. The returned documents have a `site` with its number and nothing else.

        The SQL is cached: no query runs more often, and Django would need ten times as long to
        build it as the database to answer it.
        """
        column = Chunk._meta.get_field("lease_id")
        held = {column.get_db_prep_value(lease, connection) for lease in leases.values()}
        rows = self.model.objects.raw(_lock_query(len(held), len(leases)), [*held, *leases])
        documents = {}
        for row in rows:  # Each row has two more columns than the model.
            held_under, number = row.held_under, row.site_number  # type: ignore[attr-defined]
            if uuid.UUID(str(held_under)) == leases[row.pk]:
                row.site = Site.from_db(rows.db, ("id", "site_id"), (row.site_id, number))
                documents[row.pk] = row
        return documents


class Document(RecordedRow):
    """Stores one file with an identity (site, doc_id), or one part of a file.

    Files with the same identity and different bytes are versions of each other.

    If a file holds several documents, its row stays the record of the file, in the state DIVIDED.
    Each document in it has a row of its own: `part_of` is the row that was divided, and the pages
    are those of the file. A part is identified by the hash of the file, its pages and its region.

    A container of files (an email message, a ZIP archive, a PDF portfolio) is DIVIDED too. Each of
    its entries that is a document has a row with bytes of its own: `part_of` is the container.
    """

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="documents")
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, related_name="documents")
    # The type or person was corrected, so it is no longer the document that its batch named.
    is_redeclared = models.BooleanField(default=False, db_default=False)
    chunk = models.ForeignKey(
        Chunk, on_delete=models.SET_NULL, null=True, blank=True, related_name="documents"
    )
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="documents")
    # A submitted doc_id has at most MAX_DOC_ID_LENGTH characters. That of a part adds its pages.
    doc_id = models.CharField(gettext_lazy("document"), max_length=160)
    # The field has no choices, because types are data that a data manager extends without a
    # migration.
    document_type = models.CharField(gettext_lazy("type"), max_length=40, blank=True)
    filename = models.CharField(max_length=255, blank=True)
    url = models.URLField(max_length=2000, blank=True)  # "" for an upload
    # Key in the spool: of an upload, or of bytes from the archive that are checked again.
    spooled = models.CharField(max_length=200, blank=True)
    schema_version = models.CharField(max_length=20)
    expected_sha256 = models.CharField(max_length=64, blank=True)  # as the manifest announces it
    sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    size = models.PositiveBigIntegerField(null=True, blank=True)  # bytes
    etag = models.CharField(max_length=200, blank=True)  # a strong ETag from the portal
    pages = models.PositiveIntegerField(null=True, blank=True)
    part_of = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="parts",
        db_index=False,
    )
    # The pages of the file that a part has, from 1; 0 for a whole file.
    first_page = models.PositiveIntegerField(default=0, db_default=0)
    last_page = models.PositiveIntegerField(default=0, db_default=0)
    # Of one page, if the part is not a whole page: `core.file_parts.FilePart.region_text`.
    region = models.CharField(max_length=40, blank=True, default="", db_default="")
    # The number of an entry in its container, from 1, and its path there; 0 and "" for others.
    entry = models.PositiveIntegerField(default=0, db_default=0)
    entry_name = models.CharField(max_length=255, blank=True, default="", db_default="")
    # It is not known whether the entry is a document at all, so a person decides.
    is_doubtful = models.BooleanField(default=False, db_default=False)
    # The person whose document it is, as a manifest or the separator sheet of a part declares;
    # "" if none does. The doc_id of an upload contains the person.
    person = models.CharField(max_length=80, blank=True, default="", db_default="")
    # What a submission of schema v2.1 declares in addition; "" if it does not.
    person_role = models.CharField(max_length=80, blank=True, default="", db_default="")
    declared_language = models.CharField(max_length=10, blank=True, default="", db_default="")
    declared_version = models.CharField(max_length=40, blank=True, default="", db_default="")
    state = models.CharField(
        max_length=20, choices=list_state_choices(DocumentState), default=DocumentState.RECEIVED
    )
    code = models.CharField(max_length=40, blank=True)  # of the primary finding
    attempts = models.PositiveIntegerField(default=0)  # an attempt is counted before it begins
    fetch_tries = models.PositiveIntegerField(default=0)  # requests that failed so far
    # Of them, those that count against the document: after FETCH_TRIES it is rejected.
    counted_tries = models.PositiveIntegerField(default=0, db_default=0)
    failing_since = models.DateTimeField(null=True, blank=True)  # the deadline counts from here
    next_attempt_at = models.DateTimeField(null=True, blank=True)  # not fetched before
    revision = models.PositiveIntegerField(default=0, editable=False, db_column="transitions")
    correlation_id = models.UUIDField(default=uuid.uuid4, editable=False)
    rules_version = models.CharField(max_length=100, blank=True)
    duplicate_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="duplicates"
    )
    # The rejected or returned document that it replaces.
    corrects = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="corrections",
        db_index=False,
    )
    received_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)

    # The redactions of its bytes, once `documents.redactions` has read them for this instance.
    known_redactions: "list[Any] | None" = None

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        permissions = [
            ("retry_document", "Can try held documents again"),
            ("review_document", "Can review documents"),
            ("override_document", "Can file documents in spite of what was found"),
        ]
        indexes = [
            models.Index(fields=["chunk", "state"], name="documents_of_a_chunk"),
            models.Index(fields=["batch", "state"], name="documents_of_a_batch"),
            models.Index(fields=["site", "sha256"], name="documents_by_content"),
            # Admission counts unfinished documents, and those that were settled lately.
            models.Index(fields=["state", "received_at"], name="documents_by_state"),
            models.Index(fields=["settled_at"], name="documents_by_settling"),
            # For the review queue, the longest wait first.
            models.Index(fields=["state", "settled_at"], name="documents_by_waiting"),
            models.Index(
                fields=["corrects"], condition=Q(corrects__isnull=False), name="corrections"
            ),
            models.Index(
                fields=["part_of", "first_page"],
                condition=Q(part_of__isnull=False),
                name="parts_of_a_file",
            ),
            # For the newest and the first version of a document.
            models.Index(fields=["site", "doc_id", "id"], name="documents_by_version"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in DocumentState]),
                name="document_state_is_one_of_the_table",
            ),
            models.UniqueConstraint(
                fields=["site", "doc_id", "sha256"],
                condition=Q(state=DocumentState.ARCHIVED),
                name="document_is_filed_once",
            ),
            models.UniqueConstraint(
                fields=["site", "sha256", "first_page", "last_page", "region"],
                condition=Q(state=DocumentState.ARCHIVED, url=""),
                name="an_upload_is_filed_once",  # under any doc_id
            ),
            models.UniqueConstraint(
                fields=["batch", "site", "doc_id"],
                condition=Q(is_redeclared=False, part_of=None),
                name="a_batch_names_a_document_once",
            ),
            models.UniqueConstraint(
                fields=["part_of", "entry", "first_page", "last_page", "region"],
                condition=Q(part_of__isnull=False),
                name="a_file_has_a_part_once",
            ),
            models.CheckConstraint(
                condition=Q(part_of=None, entry=0, first_page=0, last_page=0, region="")
                | Q(
                    part_of__isnull=False,
                    entry=0,
                    first_page__gte=1,
                    last_page__gte=models.F("first_page"),
                )
                & (Q(region="") | Q(last_page=models.F("first_page")))
                | Q(part_of__isnull=False, entry__gte=1, first_page=0, last_page=0, region=""),
                name="a_part_has_pages_or_is_an_entry",
            ),
            models.CheckConstraint(
                condition=~Q(state=DocumentState.ARCHIVED) | ~Q(sha256=""),
                name="a_filed_document_has_its_fingerprint",
            ),
            models.CheckConstraint(
                condition=~Q(url="") | ~Q(spooled="") | Q(part_of__isnull=False),
                name="a_document_comes_from_a_portal_or_an_upload",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.doc_id} at site {self.site.site_id}"

    @classmethod
    def lock(cls, key: Any) -> Self:
        """Return the document with what the log says about it. Only the document is locked."""
        rows = cls._meta.base_manager.select_for_update(of=("self",), no_key=True)
        row: Self = rows.select_related("site__study", "packet", "batch").get(pk=key)
        return row

    @property
    def attempt_number(self) -> int | None:
        """Return the number of the attempt that runs or comes next, or None if it is settled.

        A download that failed and a worker that died both end an attempt.
        """
        if DocumentState(self.state).is_settled:
            return None
        if self.state == DocumentState.RECEIVED:
            return max(self.attempts, self.fetch_tries) + 1
        return max(self.attempts, self.fetch_tries + 1)

    @property
    def waits_until(self) -> datetime | None:
        """Return the time of the next attempt, or None if no attempt is to come or it is due.

        While its portal does not respond, only the chunk of a document stores that time
        (`dispatch.portal_outages`).
        """
        if self.state != DocumentState.RECEIVED:
            return None
        times = [self.next_attempt_at or timezone.now()]
        if self.chunk and self.chunk.state == ChunkState.WAITING:
            times.append(self.chunk.next_dispatch_at)
        return latest if (latest := max(times)) > timezone.now() else None

    def entry_facts(self) -> Mapping[str, Any]:
        """Return the facts that all entries of the document contain."""
        return {
            "site": self.site.site_id,
            "doc_id": self.doc_id,
            "sha256": self.sha256,
            "correlation_id": str(self.correlation_id),
            "rules": self.rules_version,
            "schema_version": self.schema_version,
        }

    def log_facts(self) -> Mapping[str, Any]:
        """Return study, packet, batch, document and attempt for lines of the log.

        Only what is loaded with the row: a line of the log is no reason for a query. The attempt
        is the last one that began, as `attempt_number` counts it; there may be none.
        """
        facts: dict[str, Any] = {"document": self.subject}
        if get_contextvars().get("document") != self.subject:  # A shift has bound its attempt.
            facts["attempt"] = max(self.attempts, self.fetch_tries + bool(self.sha256)) or None
        if Document.packet.is_cached(self):
            facts["packet"] = self.packet.reference
        if Document.batch.is_cached(self):
            facts["batch"] = self.batch.reference
        if Site.study.is_cached(self.site):
            facts["study"] = self.site.study.protocol_number
        return facts

    @property
    def declared_facts(self) -> dict[str, str]:
        """Return what the sender declared beside type and doc_id, as the ledger records it."""
        facts = {
            "person": self.person,
            "person_role": self.person_role,
            "language": self.declared_language,
            "version": self.declared_version,
        }
        return {name: value for name, value in facts.items() if value}

    def change_if_current(self, columns: Mapping[str, Any]) -> bool:
        """Change columns and take the next number, as `RecordedRow` says, with `change`."""
        return self.change({**columns, "revision": self.revision + 1})

    def change(self, columns: Mapping[str, Any]) -> bool:
        """Change these columns (`chunk_id`, not `chunk`) of the row and of this instance.

        Returns False, and changes nothing, if another process has moved the row meanwhile. It takes
        no number: `change_if_current` does. The UPDATE differs from that of `RecordedRow` because
        no statement runs more often: its SQL is cached, and depends only on the columns' names.
        """
        fields = _fields()
        values = [fields[name].get_db_prep_save(new, connection) for name, new in columns.items()]
        fence = (self.pk, self.state, self.revision)
        with connection.cursor() as cursor:
            cursor.execute(_fenced_update(tuple(columns)), (*values, *fence))
            is_changed: bool = cursor.rowcount == 1
        if is_changed:
            for name, value in columns.items():
                setattr(self, name, value)
        return is_changed

    @property
    def current_findings(self) -> "list[Finding]":
        """Return the findings of the last decision, the primary one first.

        The last warning about the expiry of a document on file follows, if there is one.
        """
        findings = list(self.findings.all())
        decisive = [finding for finding in findings if finding.runs_out is None]
        last = max((finding.attempt for finding in decisive), default=0)
        warnings = (finding for finding in findings if finding.runs_out)
        warning = max(warnings, key=lambda finding: finding.attempt, default=None)
        current = [each for each in decisive if each.attempt == last]
        if warning:
            current = [each for each in current if each.code != "EXPIRES_SOON"]
        ordered = sorted(current, key=lambda finding: (not finding.is_primary, finding.pk))
        return [*ordered, warning] if warning else ordered

    @property
    def declared_person(self) -> str:
        """Return the name of the person that the sender declared, or "".

        The doc_id of an upload contains the name after the type; those of a portal's
        document and of a part of a file contain none. A manifest, and the separator sheet of a
        part, may name one. A name after another type than that of the document does not count.
        """
        if not self.has_declared_doc_id:
            return self.person
        declared, person = parse_doc_id(self.doc_id)
        return person if declared == self.document_type else ""

    @property
    def has_declared_doc_id(self) -> bool:
        """Return whether the doc_id is made of the declared type and person."""
        return not self.url and not self.is_part

    def refresh_from_db(self, *args: Any, **options: Any) -> None:
        """Read the row again, and forget what was read about its redactions."""
        self.known_redactions = None
        super().refresh_from_db(*args, **options)

    @property
    def is_part(self) -> bool:
        """Return whether this is a part of a file, or an entry of a container."""
        return self.part_of_id is not None

    @property
    def is_entry(self) -> bool:
        """Return whether this is an entry of a container. It is a whole file."""
        return self.entry > 0

    @property
    def has_pages_of_a_file(self) -> bool:
        """Return whether this is a part of a file: some of its pages, and not a whole file."""
        return self.first_page > 0

    @property
    def file_part(self) -> FilePart | None:
        """Return the pages of the file that this document has, or None for a whole file."""
        if not self.has_pages_of_a_file:
            return None
        return FilePart.parse(self.first_page, self.last_page, self.region)

    @property
    def page_numbers(self) -> range:
        """Return the numbers of this document's pages in its file. Empty if it was not read."""
        part = self.file_part
        return part.numbers if part else range(1, (self.pages or 0) + 1)

    @property
    def file_doc_id(self) -> str:
        """Return the doc_id of the file: without the pages, if this is a part of it."""
        part = self.file_part
        return self.doc_id.removesuffix(part.suffix) if part else self.doc_id

    @property
    def type_name(self) -> str:
        """Return the name of the type. A file that was divided, or may be, has none of its own."""
        if self.state == DocumentState.DIVIDED:
            return "File with several documents"
        if self.state == DocumentState.IN_REVIEW and self.code == "MULTIPLE_DOCUMENTS":
            return "File that may contain several documents"
        kind = TYPES.get(self.document_type)
        return kind.name if kind else "Document"


@cache
def _fields() -> Mapping[str, "models.Field[Any, Any]"]:
    return {field.attname: field for field in Document._meta.concrete_fields}


@cache
def _lock_query(leases: int, documents: int) -> str:
    """Return the SQL of `lock_leased` for so many leases and documents."""
    document, chunk, site = (model._meta.db_table for model in (Document, Chunk, Site))
    held_under, wanted = (", ".join(["%s"] * number) for number in (leases, documents))
    locks = connection.features.has_select_for_no_key_update  # SQLite has one writer at a time
    return f"""SELECT {document}.*, {chunk}.lease_id AS held_under, {site}.site_id AS site_number
        FROM {document}
        JOIN {chunk} ON {chunk}.id = {document}.chunk_id
        JOIN {site} ON {site}.id = {document}.site_id
        WHERE {chunk}.lease_id IN ({held_under}) AND {document}.id IN ({wanted})
        ORDER BY {document}.chunk_id, {document}.id
        {f"FOR NO KEY UPDATE OF {chunk}, {document}" if locks else ""}"""  # noqa: S608 - names


@cache
def _fenced_update(names: tuple[str, ...]) -> str:
    """Return the SQL of `change` for columns with these names."""
    new = ", ".join(f"{_fields()[name].column} = %s" for name in names)
    fence = "id = %s AND state = %s AND transitions = %s"
    table = Document._meta.db_table
    return f"UPDATE {table} SET {new} WHERE {fence}"  # noqa: S608 - the model's own names


class Finding(models.Model):
    """Stores a finding of a check. Code and facts become sentences when they are displayed."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="findings")
    code = models.CharField(max_length=40)
    page = models.PositiveIntegerField(default=0)  # 0: the whole document
    is_primary = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)  # str and int only
    rules_version = models.CharField(max_length=100)
    attempt = models.PositiveIntegerField(default=1)  # of the document, when it was found
    # Of a warning about a document on file, by `documents.expiries`: the last day of validity, and
    # how many days before it the warning was due; 0 after that day.
    runs_out = models.DateField(null=True, blank=True)
    days_before = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["document", "-is_primary", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "runs_out", "days_before"],
                condition=Q(runs_out__isnull=False),
                name="a_warning_is_noted_once",
            ),
            models.UniqueConstraint(
                fields=["document", "attempt"],
                condition=Q(is_primary=True),
                name="a_decision_has_one_primary_finding",
            ),
        ]

    def __str__(self) -> str:
        return self.code


class ExcludedPage(models.Model):
    """Stores one page of a divided file that belongs to no document, and why.

    Together with the pages of the parts, these rows account for every page of the file.
    """

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="excluded_pages")
    page = models.PositiveIntegerField()  # of the file, from 1
    region = models.CharField(max_length=40, blank=True)  # as in `Document.region`
    use = models.CharField(max_length=12)
    reason = models.CharField(max_length=200, blank=True)  # of a person who set the page aside

    class Meta:
        ordering = ["document", "page", "region"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "page", "region"], name="a_page_is_accounted_for_once"
            ),
            models.CheckConstraint(
                condition=Q(use__in=[use.value for use in PageUse]),
                name="the_use_of_a_page_is_one_of_the_table",
            ),
            models.CheckConstraint(
                condition=~Q(use=PageUse.SET_ASIDE) | ~Q(reason=""),
                name="a_page_is_set_aside_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"page {self.page}: {self.use}"


class ExcludedEntry(models.Model):
    """Stores one entry of a container that belongs to no document, and why.

    Together with the rows of the documents in the container, these rows account for every entry.
    The bytes of the entry are in the container, which is archived.
    """

    document = models.ForeignKey(
        Document, on_delete=models.PROTECT, related_name="excluded_entries"
    )
    entry = models.PositiveIntegerField()  # its number in the container, from 1
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()  # bytes
    use = models.CharField(max_length=20)  # a value of `core.container_entries.EntryUse`

    class Meta:
        ordering = ["document", "entry"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "entry"], name="an_entry_is_accounted_for_once"
            ),
            models.CheckConstraint(
                condition=Q(use__in=[use.value for use in EntryUse]),
                name="the_use_of_an_entry_is_one_of_the_table",
            ),
        ]

    def __str__(self) -> str:
        return f"entry {self.entry}: {self.use}"
