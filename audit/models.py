"""Defines the tables of the ledger, of verifications and reviews, of jobs and of the outbox.

`audit.ledger.tables` inserts the rows of the ledger, and nothing changes them. The `body` of an
entry is the entry itself: the canonical line whose SHA-256 is `hash`. Its other columns are copies
for searching, and verification compares them with the line. The ORM refuses changes with an
explanation. The database refuses those that bypass the ORM (`audit.ledger.append_only`).
"""

from typing import Any, ClassVar, NoReturn

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class AppendOnly(Exception):
    """The ledger's rows are added by audit.ledger.log, never changed and never removed."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Refuses all writes, so that no change obscures earlier records (21 CFR 11.10(e))."""

    def _refuse(self, *_args: Any, **_options: Any) -> NoReturn:
        raise AppendOnly

    create = bulk_create = bulk_update = get_or_create = update_or_create = _refuse
    update = delete = _refuse
    # With these attributes, Django hides `delete` from templates and managers.
    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class _AppendOnlyModel(models.Model):
    class Meta:
        abstract = True

    def save(self, *_args: Any, **_options: Any) -> NoReturn:
        raise AppendOnly

    def delete(self, *_args: Any, **_options: Any) -> NoReturn:
        raise AppendOnly


class Entry(_AppendOnlyModel):
    """An entry of the hash chain. `body` is its line, and most other columns are copies of it."""

    # This is no identity column: a transaction that is rolled back leaves no gap, so a gap always
    # means that an entry was removed.
    seq = models.BigIntegerField(_("no."), primary_key=True)
    prev = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    event_id = models.CharField(max_length=64)
    recorded_at = models.DateTimeField(_("recorded (UTC)"))
    event = models.TextField()
    subject = models.TextField()
    site = models.TextField()
    doc_id = models.TextField(_("document"))
    from_state = models.TextField()
    to_state = models.TextField()
    code = models.TextField()
    correlation_id = models.TextField()
    actor = models.TextField()
    body = models.TextField(_("line"))  # not jsonb, which does not preserve the text

    objects: ClassVar[models.Manager["Entry"]] = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-seq"]
        verbose_name_plural = _("entries")
        permissions = [
            ("check_ledger", "Can have the ledger checked"),
            ("export_ledger", "Can export from the ledger"),
        ]
        indexes = [
            models.Index(fields=["subject", "seq"], name="entries_of_a_subject"),
            models.Index(fields=["site", "seq"], name="entries_of_a_site"),
            models.Index(fields=["doc_id", "seq"], name="entries_of_a_document"),
            models.Index(fields=["correlation_id", "seq"], name="entries_of_a_correlation"),
            models.Index(fields=["event", "seq"], name="entries_of_an_event"),
            models.Index(fields=["actor", "seq"], name="entries_of_an_actor"),
            models.Index(fields=["recorded_at"], name="entries_by_time"),
        ]
        constraints = [
            # These refuse a chain that forks and a task that is delivered twice, even if the
            # chain's lock fails.
            models.UniqueConstraint(fields=["prev"], name="an_entry_has_one_successor"),
            models.UniqueConstraint(fields=["event_id"], name="an_event_is_entered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.event} {self.subject}"


class EntryDetail(_AppendOnlyModel):
    """The detail of an entry: names, addresses, old and new values, and free text.

    The line's `detail_commit` binds it. It is stored outside of the line, so that personal data
    that was entered by mistake can be redacted, on record, while the chain stays valid (ICH E6(R3)
    4.2.2(b)).
    """

    entry = models.OneToOneField(
        Entry, on_delete=models.PROTECT, primary_key=True, related_name="detail"
    )
    salt = models.CharField(max_length=32)  # 16 bytes, in hex
    detail = models.TextField()  # canonical

    objects: ClassVar[models.Manager["EntryDetail"]] = AppendOnlyQuerySet.as_manager()

    class Meta:
        permissions = [("redact", "Can redact the detail of an entry")]

    def __str__(self) -> str:
        return f"detail of {self.entry_id}"


class Checkpoint(_AppendOnlyModel):
    """A signed statement of the root over the first `size` entries.

    `audit.signing.checkpoints` creates it.
    """

    size = models.BigIntegerField(_("entries"), primary_key=True)
    head = models.CharField(max_length=64)  # the hash of entry `size`
    root = models.CharField(max_length=64)  # of RFC 6962's tree over the lines, in hex
    frontier = models.TextField()  # audit.ledger.merkle_tree.Frontier, to which entries are added
    # A note of `audit.signing.signed_note`. It has one signature, or two when the key is replaced.
    note = models.TextField()
    created_at = models.DateTimeField(_("signed (UTC)"))

    objects: ClassVar[models.Manager["Checkpoint"]] = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-size"]

    def __str__(self) -> str:
        return f"checkpoint of {self.size} entries"


class Receipt(_AppendOnlyModel):
    """Proof that an anchor has a copy of a checkpoint. `audit.signing.anchors` creates it."""

    checkpoint = models.ForeignKey(Checkpoint, on_delete=models.PROTECT, related_name="receipts")
    anchor = models.TextField()  # audit.signing.places: "file", "s3" or "rfc3161"
    place = models.TextField()  # a path, s3://bucket/key, or the address of a time stamp authority
    proof = models.TextField()  # an object's version, or RFC 3161's response in base64
    anchored_at = models.DateTimeField(_("anchored (UTC)"))

    objects: ClassVar[models.Manager["Receipt"]] = AppendOnlyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["checkpoint", "anchor", "place"], name="a_place_gives_one_receipt"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checkpoint_id} in {self.place}"


class _InsertOnlyQuerySet(AppendOnlyQuerySet):
    create = models.QuerySet.create


class _InsertOnlyModel(models.Model):
    """A row that is not part of the chain, and is not changed after it was added either."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            raise AppendOnly
        super().save(*args, **options)

    def delete(self, *_args: Any, **_options: Any) -> NoReturn:
        raise AppendOnly


class CheckRun(_InsertOnlyModel):
    """One verification, with the entries that it read and its result.

    `audit.verification.runs` creates it. The next verification begins where the last one ended, and
    a verification that found a fault is kept. One that found none is deleted after a time, when
    later ones replace it (`runs.forget`).
    """

    class Mode(models.TextChoices):
        """Lists which entries a verification reads."""

        INCREMENTAL = "incremental", _("entries since the last verification")
        SINCE_ANCHOR = "since_anchor", _("entries since the last anchored checkpoint")
        ROLLING = (
            "rolling",
            _("entries since the last verification, and a part of the older entries"),
        )
        FULL = "full", _("all entries")

    class Result(models.TextChoices):
        """Lists the results of a verification."""

        INTACT = "intact", _("intact, confirmed by an independent anchor")
        UNANCHORED = "unanchored", _("consistent, not confirmed by an independent anchor")
        BROKEN = "broken", _("broken")

    began_at = models.DateTimeField(_("began (UTC)"))
    seconds = models.FloatField()
    mode = models.CharField(max_length=20, choices=Mode)
    from_seq = models.BigIntegerField()  # the first entry that was read
    to_seq = models.BigIntegerField()  # the last entry up to which the chain is valid
    head = models.CharField(max_length=64)  # the hash of that entry
    # The older entries that a rolling check read.
    reread_from = models.BigIntegerField(null=True, db_column="again_from")
    reread_to = models.BigIntegerField(null=True, db_column="again_to")
    entries_read = models.BigIntegerField(null=True)  # null: an early release did not count them
    # The number of entries that independent anchors confirmed without reservations, or 0. It is
    # null if no anchor was read.
    vouched_to = models.BigIntegerField(null=True)
    result = models.CharField(max_length=20, choices=Result)
    findings = models.JSONField(default=list)  # sentences
    asked_by = models.CharField(max_length=200)  # an actor, as in the ledger

    objects: ClassVar[models.Manager["CheckRun"]] = _InsertOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("verification of the ledger")
        verbose_name_plural = _("verifications of the ledger")

    def __str__(self) -> str:
        return f"{self.mode} check {self.pk}: {self.result}"

    @property
    def verdict(self) -> "CheckRun.Result":
        """Return the result by today's rules: early releases needed no anchor for "intact"."""
        is_claimed = self.result == self.Result.INTACT and not self.vouched_to
        return self.Result.UNANCHORED if is_claimed else self.Result(self.result)


class AuditReview(_InsertOnlyModel):
    """A signed review of the audit trail by one person, with its outcome.

    `audit.trail_reviews` creates it. A later finding needs another review.
    """

    class Outcome(models.TextChoices):
        """Lists the outcomes that a reviewer can sign."""

        NOTHING_FOUND = "nothing_found", _("No findings")
        ANSWERED = "answered", _("Findings, resolved")
        OPEN = "open", _("Findings, follow-up open")

    period_from = models.DateField()  # days of UTC, both included
    period_to = models.DateField()
    site = models.TextField(blank=True)  # the number of a site, or "" for the whole trail
    filters = models.TextField(blank=True)  # a description of what was filtered out
    findings = models.TextField()
    outcome = models.CharField(max_length=20, choices=Outcome)
    entries = models.BigIntegerField()  # their number in that period and site at the signature
    last_seq = models.BigIntegerField()  # the last entry of the trail at the signature
    reviewer = models.TextField()  # an actor, as in the ledger
    printed_name = models.TextField()
    meaning = models.CharField(max_length=40)  # of the signature: 21 CFR 11.50(a)(3)
    signed_at = models.DateTimeField(_("signed (UTC)"))

    objects: ClassVar[models.Manager["AuditReview"]] = _InsertOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("audit trail review")
        verbose_name_plural = _("audit trail reviews")

    def __str__(self) -> str:
        return f"review {self.pk}: {self.period_from} to {self.period_to}"


class AuditJob(models.Model):
    """Stores work that a worker does in the background, with its progress and its result.

    `audit.background_jobs` writes it. A message of the outbox says when it is due and who runs it.
    """

    class State(models.TextChoices):
        """Lists the states of a background job."""

        WAITING = "waiting", _("waiting for a worker")
        RUNNING = "running", _("in progress")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    kind = models.CharField(max_length=40)
    arguments = models.JSONField(default=dict)
    # As they were requested, so that they can be sent again: `arguments` are made of them. None for
    # jobs of the software and of early releases.
    parameters = models.JSONField(null=True)
    asked_by = models.CharField(max_length=200)  # an actor, as in the ledger
    asked_role = models.CharField(max_length=200, blank=True, db_default="")
    # The person, site or client: all tokens of one owner may read and cancel the job. Jobs of early
    # releases have none, and belong to `asked_by`.
    owner = models.CharField(max_length=200, blank=True, db_default="")
    priority = models.PositiveSmallIntegerField(default=5, db_default=5)  # 1 is the most urgent
    idempotency_key = models.CharField(max_length=200, unique=True, null=True, blank=True)
    request_digest = models.CharField(max_length=64, blank=True, db_default="")
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    done = models.BigIntegerField(default=0)  # of `total`, in the kind's own unit
    total = models.BigIntegerField(default=0)  # 0: not known
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)  # why it failed, for people
    attempts = models.PositiveIntegerField(default=0)  # how often a worker has started it
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    cancel_requested_by = models.CharField(max_length=200, blank=True, db_default="")
    cancel_requested_role = models.CharField(max_length=200, blank=True, db_default="")

    is_stop_requested = False  # in the process that runs the job: its work has to end

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("background job")
        permissions = [
            ("cancel_job", "Can cancel anybody's background jobs"),
            ("verify_archive", "Can verify the archive"),
            ("create_backup", "Can create backups"),
        ]
        indexes = [models.Index(fields=["kind", "state"], name="jobs_by_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.state}"

    @property
    def is_final(self) -> bool:
        """Return whether the job has ended, with or without a result."""
        return self.state not in {self.State.WAITING, self.State.RUNNING}

    @property
    def is_being_cancelled(self) -> bool:
        """Return whether a cancellation was requested and the job has not ended."""
        return self.cancel_requested_at is not None and not self.is_final


class OutboxMessage(models.Model):
    """Stores what is delivered after the transaction that wrote it. `audit.outbox` writes it.

    A delivered message is deleted. The table is no part of the ledger.
    """

    class State(models.TextChoices):
        """Lists the states of a message. A delivered message is deleted."""

        WAITING = "waiting", _("waiting")
        CLAIMED = "claimed", _("being delivered")
        DEAD = "dead", _("given up")

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200, blank=True)  # idempotency key; "": never shared
    ordering_key = models.CharField(max_length=200, blank=True)  # "": delivered in any order
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)  # counted when it is claimed
    error = models.TextField(blank=True)  # of the last attempt that failed
    # Of the request, command or task that wrote it; None for messages of earlier releases.
    correlation_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    # `claim_next` takes messages in this order: later than `due_at` for those that are less urgent.
    turn_at = models.DateTimeField(default=timezone.now, db_default=Now())
    expires_at = models.DateTimeField(null=True)  # from then on it is out of date
    claim_id = models.UUIDField(null=True)  # the fencing token of the claim
    claimed_by = models.CharField(max_length=200, blank=True)  # the worker that has or had it
    lease_until = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(null=True)  # when a worker was last woken for it
    dead_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(
                fields=["kind", "due_at"],
                condition=models.Q(state__in=["waiting", "claimed"]),
                name="open_outbox_messages",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "key"],
                condition=models.Q(state="waiting") & ~models.Q(key=""),
                name="one_message_of_a_key_waits",
            ),
            models.UniqueConstraint(
                fields=["kind", "ordering_key"],
                condition=models.Q(state="claimed") & ~models.Q(ordering_key=""),
                name="one_message_of_an_order_is_claimed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} message {self.pk}"
