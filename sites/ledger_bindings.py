"""Defines the rows of people and programs that the ledger binds: accounts, tokens, FHIR clients.

An account is bound together with its groups, sites, own permissions and the key of its second
factor. Together they determine the identity and the permissions of a person.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Model

from audit.change_tracking.field_changes import UNTRACKED
from audit.ledger.bound_rows import BoundKind

# An entry about a password covers these columns too, which change together with it.
_PASSWORD_COLUMNS = frozenset({"password", "password_changed_at", "password_is_temporary"})


def make_account_kind(model: type[Model]) -> BoundKind:
    """Return the kind of accounts. `model` is the current model, or that of a migration."""
    return BoundKind(
        "user",
        model,
        left_out=frozenset(UNTRACKED),
        related_values=_related_values,
        stands_for={"membership": frozenset({"sites"}), "password": _PASSWORD_COLUMNS},
    )


def make_token_kind(model: type[Model]) -> BoundKind:
    """Return the kind of API tokens. `model` is the current model, or that of a migration."""
    return BoundKind("apitoken", model, left_out=frozenset({"revision", "last_used_at"}))


def make_fhir_client_kind(model: type[Model]) -> BoundKind:
    """Return the kind of FHIR clients. `model` is the current model, or that of a migration."""
    return BoundKind("fhirclient", model, left_out=frozenset({"revision"}))


def _related_values(
    model: type[Model], keys: Collection[int]
) -> Mapping[str, Mapping[int, list[Any]]]:
    """Return the values of related rows that are bound with accounts, by the account's key."""

    def values_by_user(related: Any, *columns: str, **filters: Any) -> dict[int, list[Any]]:
        rows = related.objects.filter(user__in=keys, **filters).order_by(*columns)
        values: dict[int, list[Any]] = defaultdict(list)
        for user, *row in rows.values_list("user_id", *columns):
            values[user].append(list(map(str, row)))
        return dict(values)

    user_model: Any = model
    get_model = user_model._meta.apps.get_model
    permission = [f"permission__{name}" for name in ("content_type__app_label", "codename")]
    return {
        "groups": values_by_user(user_model.groups.through, "group__name"),
        "user_permissions": values_by_user(user_model.user_permissions.through, *permission),
        "sites": values_by_user(get_model("clinical_sites", "Membership"), "site__site_id"),
        "key": values_by_user(get_model("otp_totp", "TOTPDevice"), "key", confirmed=True),
    }
