"""What the forms of the product's own pages have in common: their look, and how they are signed."""

from typing import Any

from django import forms

from audit.electronic_signatures import Signature
from ingestion.rules.document_types import TYPES
from sites.accounts import identity, step_up
from sites.models import User


class PlainForm(forms.Form):
    """Fields in the product's look; what is wrong is tied to its field for screen readers."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"


def type_field() -> forms.ChoiceField:
    kinds = [(kind.slug, kind.name) for kind in TYPES.values()]
    return forms.ChoiceField(label="Type", choices=[("", "Choose a type"), *kinds])


def person_field() -> forms.CharField:
    return forms.CharField(
        label="Name of the person",
        help_text="Only for a CV, licence, GCP certificate or financial disclosure.",
        required=False,
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SignedForm(PlainForm):
    """What is filled in is signed with it; the two fields of that come last."""

    # Never filled in by us: 21 CFR 11.200(a)(1) asks for both at each signing.
    username = forms.CharField(label="User name", max_length=150)
    password = forms.CharField(label="Password", strip=False, widget=forms.PasswordInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["username"].widget.attrs["autocomplete"] = "username"
        self.fields["password"].widget.attrs["autocomplete"] = "current-password"
        self.order_fields([name for name in self.fields if name not in SignedForm.base_fields])

    def signed(self, person: User, meaning: str, permission: str = "") -> Signature | None:
        """After `is_valid()`. None, and an error of the form, where it is not this person.

        They sign in the role that gives them `permission`; without one, in all that they have.
        """
        given = self.cleaned_data
        try:
            step_up.confirm(person, username=given["username"], password=given["password"])
        except step_up.NotSigned as refused:
            self.add_error("password", str(refused))
            return None
        role = person.role_with(permission) if permission else person.role
        return Signature(
            person.actor, role, str(person), meaning, account=identity.signer_note(person)
        )
