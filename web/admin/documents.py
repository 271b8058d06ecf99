"""Shows documents and findings in the admin, with the sentences that the sites read."""

from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.change_reasons import REASON_FIELD
from audit.change_tracking.undeletable import UndeletableAdmin
from audit.ledger.context import use_change_reason
from audit.ledger.log import ledger
from ingestion.intake import retrying
from ingestion.models import Document, Finding
from ingestion.rules.finding_texts import Sentences, describe_attributes, format_sentences
from sites import retention
from sites.models import User
from web import permissions
from web.admin.filters import (
    CategoryFilter,
    CodeFilter,
    CodeOfFindingFilter,
    OwnerFilter,
    RetryFilter,
    SeverityFilter,
    TypeFilter,
    TypeOfFindingFilter,
)
from web.admin.records import ReadOnlyAdmin
from web.documents.extracted_fields import (
    describe_reading,
    get_last_extraction,
    list_extracted_values,
)
from web.documents.outcomes import describe_findings
from web.shell.state_display import render_state_chip
from web.templatetags.siteledger import filesize


@admin.register(Document)
class DocumentAdmin(UndeletableAdmin, ReadOnlyAdmin):
    """Shows documents with their findings and extracted values, and retries them."""

    list_display = [
        "doc_id",
        "type_column",
        "site_number",
        "chip",
        "code",
        "owner",
        "packet",
        "formatted_size",
        "received_at",
    ]
    list_filter = [
        "state", TypeFilter, CodeFilter, CategoryFilter, SeverityFilter, OwnerFilter,
        RetryFilter, ("received_at", admin.DateFieldListFilter),
        "site__country", "site",
    ]  # fmt: skip
    list_select_related = ["site", "packet"]
    search_fields = [
        "doc_id__startswith",
        "filename__startswith",
        "site__site_id__exact",
        "sha256__exact",
    ]
    search_help_text = _(
        "Enter the beginning of a document identifier or file name, a site number, or a complete "
        "SHA-256 checksum."
    )
    fieldsets = [
        (None, {"fields": ["doc_id", "chip", "finding_texts", "see_also"]}),
        (_("Document"), {"fields": [
            "type_column", "site", "packet", "batch", "filename", "url", "formatted_size", "pages",
            "fingerprint", "retention_period", "person", "person_role", "declared_language",
            "declared_version",
        ]}),
        (_("Extracted data"), {"fields": ["extracted", "evidence", "reading"]}),
        (_("Checks"), {"fields": [
            "code", "schema_version", "rules_version", "attempts", "fetch_tries",
            "counted_tries", "failing_since", "next_attempt_at", "correlation_id", "duplicate_of",
            "received_at", "settled_at",
        ]}),
    ]  # fmt: skip
    readonly_fields = [
        "chip", "finding_texts", "see_also", "type_column", "formatted_size", "fingerprint",
        "correlation_id", "extracted", "evidence", "reading", "retention_period",
    ]  # fmt: skip

    actions = ["retry"]

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may retry documents. Django calls this for the actions."""
        return request.user.has_perm(permissions.RETRY_DOCUMENTS)

    @admin.action(description=_("Retry selected documents"), permissions=["retry"])
    def retry(self, request: HttpRequest, chosen: QuerySet[Document]) -> None:
        """Put the held documents of the selection back into the queue; skip the others."""
        user, selected = cast("User", request.user), chosen.count()
        retried = retrying.retry_held(chosen, by=user.actor)
        done = ngettext(
            "{n} document is in the queue again.", "{n} documents are in the queue again.", retried
        )
        self.message_user(request, done.format(n=retried))
        if skipped := selected - retried:
            sentence = ngettext(
                "{n} document was skipped. Only held documents can be retried.",
                "{n} documents were skipped. Only held documents can be retried.",
                skipped,
            )
            self.message_user(request, sentence.format(n=skipped), messages.WARNING)

    def get_retention_reason(self, obj: Document) -> str:
        """Return why the document cannot be deleted, with its retention period."""
        sentence = gettext("Documents and their history cannot be deleted. {retention}")
        return sentence.format(retention=retention.describe_retention(obj.site.study))

    def record_refusal(self, request: HttpRequest, obj: Document, why: str) -> None:
        """Record the refused deletion in the document's own history."""
        user = cast("User", request.user)
        with ledger(), use_change_reason(request.POST.get(REASON_FIELD, "")):
            obj.record("document.deletion_refused", by=user.actor, detail={"kept_because": why})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return (
            super()
            .get_queryset(request)
            .select_related("site__study", "packet", "batch", "duplicate_of__site")
        )

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        # The links "Documents of this batch" and "Documents of this packet" use these lookups.
        is_own_link = lookup in {"batch__id__exact", "packet__id__exact"}
        return is_own_link or super().lookup_allowed(lookup, value, request)

    @admin.display(description=_("status"), ordering="state")
    def chip(self, document: Document) -> str:
        """Return the state of the document as a chip."""
        return render_state_chip(document.state)

    @admin.display(description=_("type"), ordering="document_type")
    def type_column(self, document: Document) -> str:
        """Return the name of the document's type."""
        return document.type_name

    @admin.display(description=_("site"), ordering="site__site_id")
    def site_number(self, document: Document) -> str:
        """Return the number of the document's site."""
        return document.site.site_id

    @admin.display(description=_("owner"))
    def owner(self, document: Document) -> str:
        """Return the label of the owner of the document's code, or "" without a code."""
        attributes = describe_attributes(document.code)
        return attributes.owner if attributes else ""

    @admin.display(description=_("size"), ordering="size")
    def formatted_size(self, document: Document) -> str:
        """Return the size of the file in KB or MB."""
        return filesize(document.size)

    @admin.display(description="SHA-256")
    def fingerprint(self, document: Document) -> str:
        """Return the SHA-256 of the file in hex."""
        return format_html('<span class="sl-hash">{}</span>', document.sha256)

    @admin.display(description=_("retention"))
    def retention_period(self, document: Document) -> str:
        """Return sentences about the retention period and the legal holds of the study."""
        return retention.describe_retention(document.site.study)

    @admin.display(description=_("findings"))
    def finding_texts(self, document: Document) -> str:
        """Return the findings in the words that the site reads, or "None"."""
        displays = describe_findings(document)
        if not displays:
            return gettext("None")
        parts = (
            render_to_string("documents/_finding.html", {"finding": display})
            for display in displays
        )
        return format_html_join("", "{}", ((part,) for part in parts))

    @admin.display(description=_("extracted values"))
    def extracted(self, document: Document) -> str:
        """Return a table of the values that were read, or "None"."""
        values = list_extracted_values(document)
        if not values:
            return gettext("None")
        return render_to_string("documents/_extracted.html", {"extracted": values})

    @admin.display(description=_("type determined by"))
    def evidence(self, document: Document) -> str:
        """Return how the type was determined, or "" if the document was not read."""
        extraction = get_last_extraction(document)
        return extraction.evidence if extraction else ""

    @admin.display(description=_("pages"))
    def reading(self, document: Document) -> str:
        """Return how the pages were read, with which engine, and with which remarks."""
        extraction = get_last_extraction(document)
        if extraction is None:
            return gettext("No page was read.")
        lines = [*describe_reading(extraction), extraction.engine, ", ".join(extraction.flags)]
        return format_html_join("", "<div>{}</div>", ((line,) for line in lines if line))

    @admin.display(description=_("links"))
    def see_also(self, document: Document) -> str:
        """Return links to the other pages about the document."""
        reference = document.packet.reference
        links = [
            (reverse("document", args=[document.pk]), gettext("Document page")),
            (reverse("certified_copies", args=[document.pk]), gettext("Certified copy")),
            (
                reverse("packet", args=[reference]),
                gettext("Packet {reference}").format(reference=reference),
            ),
        ]
        return format_html_join(SafeString(" &nbsp; "), '<a href="{}">{}</a>', links)


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    """Shows findings of documents, in codes and in sentences."""

    list_display = [
        "code",
        "attributes",
        "what",
        "document",
        "document_state",
        "page",
        "is_primary",
        "rules_version",
    ]
    list_filter = [
        CodeOfFindingFilter,
        CategoryFilter,
        SeverityFilter,
        OwnerFilter,
        RetryFilter,
        "is_primary",
        "document__state",
        TypeOfFindingFilter,
        "document__site",
    ]
    list_select_related = ["document__site"]
    search_fields = ["document__doc_id__startswith", "document__site__site_id__exact"]
    search_help_text = _("Enter the beginning of a document identifier, or a site number.")
    fields = [
        "document",
        "document_state",
        "code",
        "attributes",
        "what",
        "why",
        "do",
        "page",
        "is_primary",
        "facts",
        "attempt",
        "rules_version",
    ]
    readonly_fields = ["document_state", "attributes", "what", "why", "do"]
    # The order of the model follows documents, which would sort the whole join.
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Finding]:
        return super().get_queryset(request).select_related("document__site")

    @admin.display(description=_("status"))
    def document_state(self, finding: Finding) -> str:
        """Return the state of the finding's document as a chip."""
        return render_state_chip(finding.document.state)

    @admin.display(description=_("category, severity, owner"))
    def attributes(self, finding: Finding) -> str:
        """Return the attributes of the code in words, or "" if it is not registered."""
        known = describe_attributes(finding.code)
        if known is None:
            return ""
        return f"{known.category}, {known.severity}, {known.owner}, {known.retry}"

    @admin.display(description=_("finding"))
    def what(self, finding: Finding) -> str:
        """Return the sentence about what was found."""
        return _sentences_of(finding).what

    @admin.display(description=_("why it matters"))
    def why(self, finding: Finding) -> str:
        """Return the sentence about why it matters."""
        return _sentences_of(finding).why

    @admin.display(description=_("what to check"))
    def do(self, finding: Finding) -> str:
        """Return the sentence about what to do or to check."""
        return _sentences_of(finding).do


def _sentences_of(finding: Finding) -> Sentences:
    name = finding.document.type_name
    return format_sentences(finding.code, finding.facts, type_name=name, for_staff=True)
