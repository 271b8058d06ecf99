"""Defines the forms of the review: the queue's filters, and the decision about a document."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.change_reasons import MIN_REASON_CHARACTERS
from ingestion.intake import declarations
from ingestion.intake.declarations import Declaration
from ingestion.models import MAX_DECISION_REASON_CHARACTERS, Action, Document
from ingestion.review.assignments import QueueFilter
from ingestion.review.decision_rules import REASON_LABELS, is_note_for_site, must_be_signed
from ingestion.review.decisions import MAX_TEXT_LENGTH, DecisionInput, find_successors
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.finding_texts import get_short_text, label_attribute_values
from sites.models import Site, User
from web.shell.forms import (
    PlainForm,
    SignedForm,
    make_action_reason_field,
    make_person_field,
    make_type_field,
    read_declaration,
)

IN_REVIEW, REJECTED = "", "rejected"  # values of the filter `what`
YES, NO = "yes", "no"  # of the filter `retryable`, and in the CSV file


def _list_code_choices() -> list[tuple[str, Any]]:
    """Return the finding codes that QA decides about, sorted by their labels."""
    dispositions = {Disposition.REVIEW, Disposition.REJECT}
    codes = [code for code, entry in CODES.items() if entry.disposition in dispositions]
    labelled = sorted(
        ((code, get_short_text(code)) for code in codes), key=lambda choice: choice[1]
    )
    return [("", _("Any reason")), *labelled]


def list_attribute_choices(name: str) -> list[tuple[str, Any]]:
    """Return the values of an attribute of codes as choices, after one for any value."""
    return [("", _("Any")), *label_attribute_values(name).items()]


class FilterForm(PlainForm):
    """The filters of the review queue. Invalid filter values are ignored."""

    what = forms.ChoiceField(
        label=_("Show"),
        required=False,
        choices=[(IN_REVIEW, _("Waiting for a decision")), (REJECTED, _("Rejected by the checks"))],
    )
    code = forms.ChoiceField(label=_("Reason"), required=False, choices=_list_code_choices)
    category = forms.ChoiceField(
        label=_("Category"), required=False, choices=partial(list_attribute_choices, "category")
    )
    severity = forms.ChoiceField(
        label=_("Severity"), required=False, choices=partial(list_attribute_choices, "severity")
    )
    owner = forms.ChoiceField(
        label=_("Owner"), required=False, choices=partial(list_attribute_choices, "owner")
    )
    retryable = forms.ChoiceField(
        label=_("Retryable"),
        required=False,
        choices=[("", _("Any")), (YES, _("Yes")), (NO, _("No"))],
    )
    site = forms.CharField(label=_("Site number"), required=False, max_length=60)
    only = forms.ChoiceField(
        label=_("Limit to"),
        required=False,
        choices=[
            ("", _("All documents")),
            ("mine", _("Assigned to me")),
            ("overdue", _("Overdue")),
            ("asked", _("Requested by a site")),
        ],
    )

    def to_queue_filter(self, person: User) -> QueueFilter:
        """Return the filter for the queue of this person."""
        self.is_valid()
        given = self.cleaned_data
        only = given.get("only")
        return QueueFilter(
            rejected=given.get("what") == REJECTED,
            code=given.get("code", ""),
            category=given.get("category", ""),
            severity=given.get("severity", ""),
            owner=given.get("owner", ""),
            retryable={YES: True, NO: False}.get(given.get("retryable", "")),
            site=given.get("site", "").strip(),
            mine=person if only == "mine" else None,
            overdue=only == "overdue",
            asked=only == "asked",
        )

    @property
    def has_filters(self) -> bool:
        """Return whether the list is filtered. Call `to_queue_filter()` first."""
        names = ("code", "category", "severity", "owner", "retryable", "site", "only")
        return any(self.cleaned_data.get(name) for name in names)


class ReviewDecisionForm(SignedForm):
    """The fields that one action requires. Actions without a signature have no signature fields."""

    document_type = make_type_field()
    person = make_person_field()
    reason_code = forms.ChoiceField(
        label=_("Reason"),
        choices=[("", _("Select a reason")), *REASON_LABELS.items()],
        help_text=_("Recorded in the audit trail."),
    )
    note = forms.CharField(
        label=_("Note to the site"),
        help_text=_(
            "The coordinator reads this text exactly as you write it. Describe what the site has "
            "to do."
        ),
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    reason = make_action_reason_field(
        _("Reason"),
        _("Recorded in the audit trail with your signature."),
        max_length=MAX_DECISION_REASON_CHARACTERS,
    )
    other = forms.ModelChoiceField(
        label=_("Newer version"),
        queryset=Document.objects.none(),
        empty_label=_("Select a document"),
    )
    site = forms.ModelChoiceField(
        label=_("Site of the document"),
        queryset=Site.objects.none(),
        empty_label=_("Select a site"),
    )
    made_on = forms.CharField(widget=forms.HiddenInput)

    def __init__(
        self, action: Action, documents: Iterable[Document], *args: Any, **options: Any
    ) -> None:
        self.action, (document, *_) = action, documents
        current = Declaration.of(document)
        declared = {"document_type": current.document_type, "person": current.person}
        super().__init__(*args, initial=declared | options.pop("initial", {}), **options)
        self.document = document
        self.is_signed = must_be_signed(action)
        names = {"reason_code", "note"} if is_note_for_site(action, document.state) else {"reason"}
        names |= _EXTRA_FIELDS.get(action, set()) | {"made_on"}
        if not declarations.can_declare_person(document):
            names -= {"person"}
        if self.is_signed:
            names |= set(SignedForm.base_fields)
        for name in set(self.fields) - names:
            del self.fields[name]
        if "other" in self.fields:
            keys = [successor.pk for successor in find_successors(document)]
            self._limit_choices("other", Document.objects.filter(pk__in=keys).order_by("-pk"))
        if "site" in self.fields:
            self._limit_choices("site", Site.objects.exclude(pk=document.site_id))

    def _limit_choices(self, name: str, rows: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - for the type checker
        field.queryset = rows

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.action is Action.REDECLARE and not self.has_error("document_type"):
            field, sentence = declarations.find_fault(self.document, read_declaration(given))
            if sentence:
                self.add_error(field, sentence)
        return given

    @property
    def decision_input(self) -> DecisionInput:
        """Return the decision of a form that is valid."""
        names = ("reason_code", "reason", "note", "other", "site")
        given = {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}
        is_redeclared = self.action is Action.REDECLARE
        declared = read_declaration(self.cleaned_data) if is_redeclared else None
        return DecisionInput(action=self.action, declared=declared, **given)

    @property
    def decision_fields(self) -> list[forms.BoundField]:
        """Return the visible fields without those of the signature."""
        others = set(SignedForm.base_fields) | {"made_on"}
        return [self[name] for name in self.fields if name not in others]


_EXTRA_FIELDS = {
    Action.SUPERSEDE: {"other"},
    Action.REHOME: {"site"},
    Action.REDECLARE: {"document_type", "person"},
}
