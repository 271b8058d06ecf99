"""Documents with their findings: one file each, with an identity."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Self

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from ingestion.core.states import NEEDS_SITE, UNSETTLED, DocumentState
from ingestion.models.batches import Batch, Chunk, Packet
from ingestion.models.choices import of_states
from ingestion.rules.document_types import TYPES
from sites.models import Site, User, within_reach


class DocumentQuerySet(models.QuerySet["Document"]):
    def visible_to(self, user: User) -> Self:
        """Another site's document does not exist for a coordinator."""
        return self.filter(within_reach(user, "site"))

    def unsettled(self) -> Self:
        """The machine still has something to do with them."""
        return self.filter(state__in=UNSETTLED)

    def waiting(self) -> Self:
        """Registered and not fetched: a worker may take them up, once their time has come."""
        return self.filter(state=DocumentState.RECEIVED)

    def due(self, at: datetime) -> Self:
        return self.waiting().filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=at))

    def needing_site(self) -> Self:
        """Rejected or returned, and nothing was sent in its place. The longest wait first."""
        sent = self.model.objects.exclude(state=DocumentState.CANCELLED)
        newer = sent.filter(site=OuterRef("site"), doc_id=OuterRef("doc_id"), pk__gt=OuterRef("pk"))
        in_its_place = sent.filter(corrects=OuterRef("pk"))
        open_still = self.filter(~Exists(newer), ~Exists(in_its_place), state__in=NEEDS_SITE)
        return open_still.order_by("pk")

    def held(self) -> Self:
        """By us or by their portals, never for their own fault."""
        return self.filter(state=DocumentState.HELD)

    def on_file(self) -> Self:
        return self.filter(state=DocumentState.ARCHIVED)

    def with_etag(self) -> Self:
        """Their portal can be asked whether it has anything else."""
        return self.exclude(etag="")

    def lock_held(self, leases: Mapping[int, uuid.UUID]) -> "dict[int, Document]":
        """Of these documents, by their keys, those whose chunk is held under the lease beside it.

        Both are locked until the transaction ends. Chunk by chunk, and a chunk before its
        documents: everybody locks in this order. They come with their site's number.

        No query runs more often, and Django would take ten times as long to write it as the
        database to answer it.
        """
        under = {_as_parameter(lease) for lease in leases.values()}
        rows = self.model.objects.raw(_held(len(under), len(leases)), [*under, *leases])
        documents = {}
        for row in rows:  # with what was selected beside the row's own columns
            held_under, number = row.held_under, row.site_number  # type: ignore[attr-defined]
            if uuid.UUID(str(held_under)) == leases[row.pk]:
                row.site = Site.from_db(rows.db, ("id", "site_id"), (row.site_id, number))
                documents[row.pk] = row
        return documents


class Document(models.Model):
    """One file with an identity: (site, doc_id). Its versions are its different bytes."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="documents")
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, related_name="documents")
    # Its type or person was corrected: it is no longer the document that its batch named.
    is_redeclared = models.BooleanField(default=False, db_default=False)
    chunk = models.ForeignKey(
        Chunk, on_delete=models.SET_NULL, null=True, blank=True, related_name="documents"
    )
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="documents")
    doc_id = models.CharField(gettext_lazy("document"), max_length=120)
    # No choices: types are data that a data manager extends, and need no migration.
    document_type = models.CharField(gettext_lazy("type"), max_length=40, blank=True)
    filename = models.CharField(max_length=255, blank=True)
    url = models.URLField(max_length=2000, blank=True)  # "" for an upload
    # Its bytes' key in the spool: of an upload, or of what is checked again from the archive.
    spooled = models.CharField(max_length=200, blank=True)
    schema_version = models.CharField(max_length=20)
    expected_sha256 = models.CharField(max_length=64, blank=True)  # as the manifest gives it
    sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    size = models.PositiveBigIntegerField(null=True, blank=True)  # bytes
    etag = models.CharField(max_length=200, blank=True)  # a strong one, its portal's for its bytes
    pages = models.PositiveIntegerField(null=True, blank=True)
    state = models.CharField(
        max_length=20, choices=of_states(DocumentState), default=DocumentState.RECEIVED
    )
    code = models.CharField(max_length=40, blank=True)  # the primary finding's
    attempts = models.PositiveIntegerField(default=0)  # times taken up, counted before anything
    fetch_tries = models.PositiveIntegerField(default=0)  # requests that failed so far
    # Of them, those that were not its portal's own fault: FETCH_TRIES of them condemn it.
    counted_tries = models.PositiveIntegerField(default=0, db_default=0)
    failing_since = models.DateTimeField(null=True, blank=True)  # its deadline counts from then
    next_attempt_at = models.DateTimeField(null=True, blank=True)  # not asked for before
    transitions = models.PositiveIntegerField(default=0)  # the n of its next ledger entry
    correlation_id = models.UUIDField(default=uuid.uuid4, editable=False)
    rules_version = models.CharField(max_length=20, blank=True)
    duplicate_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="duplicates"
    )
    # The rejected or returned one in whose place it was sent.
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
            # Admission counts what is unfinished, and how much was settled lately.
            models.Index(fields=["state", "received_at"], name="documents_by_state"),
            models.Index(fields=["settled_at"], name="documents_by_settling"),
            # What waits for QA, the longest wait first.
            models.Index(fields=["state", "settled_at"], name="documents_by_waiting"),
            models.Index(
                fields=["corrects"], condition=Q(corrects__isnull=False), name="corrections"
            ),
            # The newest version of each, and the first.
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
                fields=["site", "sha256"],
                condition=Q(state=DocumentState.ARCHIVED, url=""),
                name="an_upload_is_filed_once",  # under whatever name
            ),
            models.UniqueConstraint(
                fields=["batch", "site", "doc_id"],
                condition=Q(is_redeclared=False),
                name="a_batch_names_a_document_once",
            ),
            models.CheckConstraint(
                condition=~Q(state=DocumentState.ARCHIVED) | ~Q(sha256=""),
                name="a_filed_document_has_its_fingerprint",
            ),
            models.CheckConstraint(
                condition=~Q(url="") | ~Q(spooled=""),
                name="a_document_comes_from_a_portal_or_an_upload",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.doc_id} at site {self.site.site_id}"

    def change(self, columns: Mapping[str, Any]) -> bool:
        """Change these columns (`chunk_id`, not `chunk`), unless somebody moved the row: False.

        No statement runs more often, and Django would build it anew each time. Its text depends on
        the names of the columns alone.
        """
        fields = _fields()
        values = [fields[name].get_db_prep_save(new, connection) for name, new in columns.items()]
        fence = (self.pk, self.state, self.transitions)
        with connection.cursor() as cursor:
            cursor.execute(_fenced_update(tuple(columns)), (*values, *fence))
            is_ours: bool = cursor.rowcount == 1
        if is_ours:
            for name, value in columns.items():
                setattr(self, name, value)
        return is_ours

    @property
    def subject(self) -> str:
        """How the ledger names this document."""
        return f"document:{self.pk}"

    @property
    def current_findings(self) -> "list[Finding]":
        """Those of the last decision, the primary one first, and the last warning since then."""
        found = list(self.findings.all())
        decided = [finding for finding in found if finding.runs_out is None]
        last = max((finding.attempt for finding in decided), default=0)
        noted = (finding for finding in found if finding.runs_out)
        warning = max(noted, key=lambda finding: finding.attempt, default=None)
        current = [each for each in decided if each.attempt == last]
        if warning:
            current = [each for each in current if each.code != "EXPIRES_SOON"]
        ordered = sorted(current, key=lambda finding: (not finding.is_primary, finding.pk))
        return [*ordered, warning] if warning else ordered

    @property
    def declared_person(self) -> str:
        """Whose it is, as its sender said; "" where nobody said so.

        The doc_id of an upload has the name behind its type (decision 12); a portal's has none.
        """
        declared, _, person = self.doc_id.partition(".")
        kind = TYPES.get(declared)
        is_said = kind is not None and kind.per_person and not self.url
        return person.replace("-", " ").title() if is_said else ""

    @property
    def type_name(self) -> str:
        kind = TYPES.get(self.document_type)
        return kind.name if kind else "Document"


@cache
def _fields() -> Mapping[str, "models.Field[Any, Any]"]:
    return {field.attname: field for field in Document._meta.concrete_fields}


def _as_parameter(lease: uuid.UUID) -> Any:
    return Chunk._meta.get_field("lease_id").get_db_prep_value(lease, connection)


@cache
def _held(leases: int, documents: int) -> str:
    document, chunk, site = (model._meta.db_table for model in (Document, Chunk, Site))
    held_under, ours = (", ".join(["%s"] * number) for number in (leases, documents))
    locks = connection.features.has_select_for_no_key_update  # SQLite has one writer at a time
    return f"""SELECT {document}.*, {chunk}.lease_id AS held_under, {site}.site_id AS site_number
        FROM {document}
        JOIN {chunk} ON {chunk}.id = {document}.chunk_id
        JOIN {site} ON {site}.id = {document}.site_id
        WHERE {chunk}.lease_id IN ({held_under}) AND {document}.id IN ({ours})
        ORDER BY {document}.chunk_id, {document}.id
        {f"FOR NO KEY UPDATE OF {chunk}, {document}" if locks else ""}"""  # noqa: S608 - names


@cache
def _fenced_update(names: tuple[str, ...]) -> str:
    new = ", ".join(f"{_fields()[name].column} = %s" for name in names)
    fence = "id = %s AND state = %s AND transitions = %s"
    table = Document._meta.db_table
    return f"UPDATE {table} SET {new} WHERE {fence}"  # noqa: S608 - the model's own names


class Finding(models.Model):
    """What a rule saw. The sentences are made from code and facts when they are shown."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="findings")
    code = models.CharField(max_length=40)
    page = models.PositiveIntegerField(default=0)  # 0: the whole document
    is_primary = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)  # str and int only
    rules_version = models.CharField(max_length=20)
    attempt = models.PositiveIntegerField(default=1)  # of the document, when it was found
    # Of what was noted while it was on file, by `expiries`: its last day, and the warning that was
    # due so many days before; 0 when the day had passed.
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
