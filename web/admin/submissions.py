"""Shows batches, packets and chunks in the admin: what was submitted, and its progress."""

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.undeletable import UndeletableAdmin
from ingestion.core.states import SETTLED_STATES, BatchState, ChunkState, DocumentState
from ingestion.documents import batches
from ingestion.models import Batch, Chunk, Document, Packet
from sites import retention
from sites.models import User
from web import permissions
from web.admin.records import ReadOnlyAdmin
from web.shell.state_display import render_work_chip


class CountedAdmin(ReadOnlyAdmin):
    """The base of lists that count the documents of each row, and how many are settled."""

    key = ""  # the foreign key of a document to this model

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        counted = rows.annotate(
            documents_total=_count(self.key),
            documents_settled=_count(self.key, state__in=SETTLED_STATES),
        )
        return cast("QuerySet[Any]", counted)

    @admin.display(description=_("documents settled"))
    def settled(self, row: Any) -> str:
        """Return how many of the row's documents are settled, for example "3 of 4"."""
        sentence = gettext("{n} of {total}")
        return sentence.format(n=row.documents_settled, total=row.documents_total)


@admin.register(Batch)
class BatchAdmin(UndeletableAdmin, CountedAdmin):
    """Shows batches, and cancels them on request."""

    key = "batch"
    list_display = [
        "reference",
        "state_chip",
        "source",
        "settled",
        "priority",
        "created_at",
        "submitted_by",
    ]
    list_filter = [
        "state",
        "source",
        ("created_at", admin.DateFieldListFilter),
        ("submitted_by", admin.RelatedOnlyFieldListFilter),
    ]
    actions = ["cancel"]
    list_select_related = ["submitted_by"]
    search_fields = ["reference", "submitted_by__username", "submitted_by__printed_name"]
    search_help_text = _("Enter a reference, such as BAT-2026-0007, or the name of a submitter.")
    fields = [
        "reference", "state_chip", "source", "settled", "priority", "submitted_by",
        "idempotency_key", "correlation_id", "created_at", "started_at", "finished_at",
        "error_code", "cancel_requested_at", "cancel_requested_by", "pruned_at", "documents_link",
    ]  # fmt: skip
    readonly_fields = ["state_chip", "settled", "correlation_id", "documents_link"]

    def get_retention_reason(self, obj: Batch) -> str:
        """Return why a batch cannot be deleted, and what to do instead."""
        return gettext(
            "A batch cannot be deleted, because it is kept with its documents. You can cancel a "
            "batch that is not completed."
        )

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may cancel batches.

        Django calls this for the action `cancel`.
        """
        return request.user.has_perm(permissions.CANCEL_BATCH)

    @admin.action(description=_("Cancel selected batches"), permissions=["cancel"])
    def cancel(self, request: HttpRequest, selected: QuerySet[Batch]) -> None:
        """Cancel the waiting documents now, and those in progress as soon as they are settled."""
        user = cast("User", request.user)
        for batch in selected.order_by("pk"):
            try:
                batches.cancel_batch(batch, by=user.actor)
            except batches.AlreadyFinal as error:
                skipped = gettext("Skipped: {error}.").format(error=error)
                self.message_user(request, skipped, messages.WARNING)
            else:
                sentence = gettext("Batch {reference} is being cancelled.")
                self.message_user(request, sentence.format(reference=batch.reference))

    @admin.display(description=_("status"), ordering="state")
    def state_chip(self, batch: Batch) -> str:
        """Return the state of the batch as a chip."""
        return render_work_chip(BatchState(batch.state))

    @admin.display(description=_("documents"))
    def documents_link(self, batch: Batch) -> str:
        """Return a link to the documents of the batch."""
        query = f"batch__id__exact={batch.pk}"
        return _filtered("ingestion_document", query, gettext("Documents of this batch"))


@admin.register(Packet)
class PacketAdmin(UndeletableAdmin, CountedAdmin):
    """Shows packets with the progress of their documents."""

    key = "packet"
    list_display = ["reference", "site", "settled", "batch", "created_at", "page"]
    list_filter = ["site__country", ("created_at", admin.DateFieldListFilter), "site"]
    list_select_related = ["site", "batch"]
    search_fields = ["reference", "name", "site__site_id"]
    search_help_text = _("Enter the reference or label of a packet, or a site number.")
    fields = [
        "reference",
        "name",
        "site",
        "batch",
        "settled",
        "created_at",
        "page",
        "documents_link",
        "retention_period",
    ]
    readonly_fields = ["settled", "page", "documents_link", "retention_period"]

    def get_retention_reason(self, obj: Packet) -> str:
        """Return why a packet cannot be deleted, with its retention period."""
        sentence = gettext("A packet and its documents cannot be deleted. {retention}")
        return sentence.format(retention=retention.describe_retention(obj.site.study))

    def ledger_site(self, obj: Packet) -> str:
        """Return the number of the packet's site for its entries."""
        return obj.site.site_id

    @admin.display(description=_("retention"))
    def retention_period(self, packet: Packet) -> str:
        """Return sentences about the retention period and the legal holds of the study."""
        return retention.describe_retention(packet.site.study)

    @admin.display(description=_("results"))
    def page(self, packet: Packet) -> str:
        return format_html(
            '<a href="{}">{}<span class="sl-vh"> {}</span></a>',
            reverse("packet", args=[packet.reference]),
            gettext("Open packet"),
            packet.reference,
        )

    @admin.display(description=_("documents"))
    def documents_link(self, packet: Packet) -> str:
        """Return a link to the documents of the packet."""
        query = f"packet__id__exact={packet.pk}"
        return _filtered("ingestion_document", query, gettext("Documents of this packet"))


@admin.register(Chunk)
class ChunkAdmin(CountedAdmin):
    """Shows chunks: the parts of a batch that a worker takes at once."""

    key = "chunk"
    list_display = [
        "id",
        "state_chip",
        "site",
        "batch",
        "settled",
        "rank",
        "next_dispatch_at",
        "lease_owner",
        "attempts",
    ]
    list_filter = ["state", "site"]
    list_select_related = ["site", "batch"]
    search_fields = ["batch__reference", "site__site_id"]
    search_help_text = _("Enter the reference of a batch, or a site number.")
    fields = [
        "state_chip", "site", "batch", "settled", "rank", "next_dispatch_at", "lease_owner",
        "lease_expires_at", "attempts",
    ]  # fmt: skip
    readonly_fields = ["state_chip", "settled"]

    @admin.display(description=_("status"), ordering="state")
    def state_chip(self, chunk: Chunk) -> str:
        """Return the state of the chunk as a chip."""
        return render_work_chip(ChunkState(chunk.state))


def _filtered(model: str, query: str, text: str) -> str:
    return format_html('<a href="{}?{}">{}</a>', reverse(f"admin:{model}_changelist"), query, text)


def _count(key: str, **only: Any) -> Coalesce:
    """Return a subquery, so that a page of the list counts only the documents of its own rows.

    A divided file is not counted, because its parts are.
    """
    of_row = Document.objects.filter(**{key: OuterRef("pk")}, **only)
    own = of_row.exclude(state=DocumentState.DIVIDED).order_by().values(key)
    return Coalesce(Subquery(own.annotate(number=Count("pk")).values("number")), 0)
