"""Refuses to delete rows in the admin, explains why, and records the attempt (R14).

21 CFR 11.10(c), (e). No page offers what is refused here. The database refuses it too, however it
is tried.
"""

from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.db.models.deletion import Collector, ProtectedError, RestrictedError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from audit.change_tracking.change_reasons import REASON_FIELD, ReasonedActions
from audit.ledger.context import use_change_reason
from audit.ledger.log import ledger, record

MAX_REFUSALS_PER_REQUEST = 100  # rows of one request whose deletion is refused and recorded


class UndeletableAdmin(ReasonedActions):
    """Refuses deletions. It must be the first base, before `LedgerAdminMixin`."""

    def get_retention_reason(self, obj: Any) -> str:
        """Return why the row cannot be deleted, in sentences for people, or "" if it can."""
        raise NotImplementedError

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the person may delete the row and nothing requires that it is kept."""
        is_permitted = super().has_delete_permission(request, obj)
        return is_permitted and not (obj is not None and self.get_retention_reason(obj))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete the row, or explain why it is kept and record the attempt."""
        obj = self.get_object(request, unquote(object_id))
        if obj is None or not self.has_view_permission(request, obj):
            return super().delete_view(request, object_id, extra_context)
        if reason := self.get_retention_reason(obj):
            return self._render_refusal(request, obj, reason)
        return super().delete_view(request, object_id, extra_context)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *location: Any
    ) -> HttpResponse | None:
        """Run an action. If it deletes rows that are kept, explain why and record the attempt."""
        if "delete_selected" not in request.POST.getlist("action"):
            return super().response_action(request, queryset, *location)
        selected = queryset.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME))
        kept = [
            (obj, reason)
            for obj in selected[:MAX_REFUSALS_PER_REQUEST]
            if (reason := self.get_retention_reason(obj))
        ]
        for obj, reason in kept:
            self.record_refusal(request, obj, reason)
            message = _(
                "Nothing was deleted. The audit trail records your attempt. {item}: {reason}"
            )
            message = message.format(item=obj, reason=reason)
            self.message_user(request, message, messages.ERROR)
        return None if kept else super().response_action(request, queryset, *location)

    def record_refusal(self, request: HttpRequest, obj: Any, reason: str) -> None:
        """Record the attempt to delete a row, with the reason that the person entered.

        The attempt changes nothing, so the ledger numbers the entry and the row is not locked.
        """
        person: Any = request.user
        kind = str(self.opts.model_name)
        with ledger(), use_change_reason(request.POST.get(REASON_FIELD, "")):
            record(
                f"{kind}.deletion_refused",
                subject=f"{kind}:{obj.pk}",
                by=person.actor,
                site=self.ledger_site(obj),
                detail={"object": str(obj), "kept_because": reason},
            )

    def _render_refusal(self, request: HttpRequest, obj: Any, reason: str) -> HttpResponse:
        was_tried = request.method == "POST"
        if was_tried:
            self.record_refusal(request, obj, reason)
        context = {
            **self.admin_site.each_context(request),
            "title": _("{item} cannot be deleted").format(item=obj),
            "opts": self.opts,
            "original": obj,
            "refusal": reason,
            "was_tried": was_tried,
        }
        return TemplateResponse(request, "admin/deletion_refused.html", context, status=403)


def is_referenced(obj: Any) -> bool:
    """Return whether other rows need this one, so that it cannot be deleted."""
    try:
        Collector(using=obj._state.db).collect([obj])  # noqa: SLF001 - documented
    except (ProtectedError, RestrictedError):
        return True
    return False
