"""Defines filters of the admin's lists: document types by name, and finding codes that occur."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ingestion.models import Document, Finding
from ingestion.rules.codes import select_codes
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import get_short_text, label_attribute_values


class TypeFilter(admin.SimpleListFilter):
    """Filters a list by document type. The choices are the names of the types."""

    title = _("type")
    parameter_name = "type"
    column = "document_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(slug, kind.name) for slug, kind in TYPES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class TypeOfFindingFilter(TypeFilter):
    """Filters findings by the type of their document."""

    column = "document__document_type"


class CodeFilter(admin.SimpleListFilter):
    """The codes that occur in the database, each with its short label."""

    title = _("reason")
    parameter_name = "code"
    model: type[Document] | type[Finding] = Document

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = self.model._default_manager.exclude(code="").order_by("code")
        return [
            (code, get_short_text(code)) for code in rows.values_list("code", flat=True).distinct()
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(code=self.value()) if self.value() else queryset


class CodeOfFindingFilter(CodeFilter):
    """Filters findings by their code."""

    model = Finding


class AttributeFilter(admin.SimpleListFilter):
    """Filters documents or findings by an attribute of their code.

    The parameter has the name of the attribute. Unknown values are ignored.
    """

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(label_attribute_values(str(self.parameter_name)).items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted: dict[str, Any] = {str(self.parameter_name): self.value()}
        if self.value() not in dict(self.lookup_choices):
            return queryset
        return queryset.filter(code__in=select_codes(**wanted))


class CategoryFilter(AttributeFilter):
    """Filters a list by the category of the code."""

    title, parameter_name = _("category"), "category"


class SeverityFilter(AttributeFilter):
    """Filters a list by the severity of the code."""

    title, parameter_name = _("severity"), "severity"


class OwnerFilter(AttributeFilter):
    """Filters a list by the owner of the code."""

    title, parameter_name = _("owner"), "owner"


class RetryFilter(admin.SimpleListFilter):
    """Filters a list by whether the code is retryable."""

    title, parameter_name = _("retryable"), "retryable"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in {"yes", "no"}:
            return queryset
        return queryset.filter(code__in=select_codes(retryable=self.value() == "yes"))
