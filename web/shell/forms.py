"""Defines base classes and fields of forms: the style, and the electronic signature."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from audit.electronic_signatures import ElectronicSignature
from ingestion.intake.declarations import Declaration
from ingestion.rules.document_types import TYPES
from sites.accounts import identity, step_up
from sites.models import User

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class PlainForm(forms.Form):
    """A form whose fields have the product's style."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"


def make_type_field() -> forms.ChoiceField:
    """Return a field for a document type."""
    kinds = [(kind.slug, kind.name) for kind in TYPES.values()]
    return forms.ChoiceField(label=_("Type"), choices=[("", _("Select a type")), *kinds])


def make_person_field() -> forms.CharField:
    """Return a field for the person whom a document is about."""
    return forms.CharField(
        label=_("Name of the person"),
        help_text=_("Only for a CV, licence, GCP certificate or financial disclosure."),
        required=False,
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


def read_declaration(cleaned_data: Mapping[str, Any]) -> Declaration:
    """Return the type and the person that were entered into the two fields above."""
    person = cleaned_data.get("person", "").strip()
    return Declaration(cleaned_data.get("document_type", ""), person)


def make_action_reason_field(
    label: "str | _StrPromise",
    help_text: "str | _StrPromise",
    *,
    max_length: int = MAX_REASON_CHARACTERS,
) -> forms.CharField:
    """Return a field for the reason of an action, which is recorded in the audit trail."""
    return forms.CharField(
        label=label,
        help_text=help_text,
        min_length=MIN_REASON_CHARACTERS,
        max_length=max_length,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class SignedForm(PlainForm):
    """A form that is signed electronically. The two fields of the signature come last."""

    # Never prefilled: 21 CFR 11.200(a)(1) requires both components at each signing.
    username = forms.CharField(label=_("User name"), max_length=150)
    password = forms.CharField(label=_("Password"), strip=False, widget=forms.PasswordInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["username"].widget.attrs["autocomplete"] = "username"
        self.fields["password"].widget.attrs["autocomplete"] = "current-password"
        self.order_fields([name for name in self.fields if name not in SignedForm.base_fields])

    def sign(self, person: User, meaning: str, permission: str = "") -> ElectronicSignature | None:
        """Return the signature of `person`, or None if the credentials are not theirs.

        Call it after `is_valid()`. Wrong credentials add an error to the form. The person signs in
        the role that gives them `permission`; without one, in all of their roles.
        """
        credentials = {name: self.cleaned_data[name] for name in ("username", "password")}
        try:
            step_up.confirm(person, **credentials)
        except step_up.NotSigned as refused:
            self.add_error("password", str(refused))
            return None
        signer = person.actor_with(permission) if permission else person.actor
        return ElectronicSignature(
            signer, str(person), meaning, account=identity.describe_last_identity_change(person)
        )
