"""Which rows of people and programs the ledger binds: accounts and API tokens.

With an account its groups, its sites, its own permissions and its key for codes at sign-in: all
that decides who somebody is and what they may do.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import Model

from audit.change_tracking.field_changes import UNTRACKED
from audit.ledger.bound_rows import BoundKind

# A password that is set takes these with it.
_WITH_A_PASSWORD = frozenset({"password", "password_changed_at", "password_is_temporary"})


def account_kind(model: type[Model]) -> BoundKind:
    """Return the kind of accounts. `model`: the user's own, or that of a migration."""
    return BoundKind(
        "user",
        model,
        left_out=frozenset(UNTRACKED),
        beside=_beside_accounts,
        stands_for={"membership": frozenset({"sites"}), "password": _WITH_A_PASSWORD},
    )


def token_kind(model: type[Model]) -> BoundKind:
    """Return the kind of API tokens. `model`: theirs, or that of a migration."""
    return BoundKind("apitoken", model, left_out=frozenset({"revision", "last_used_at"}))


def _beside_accounts(
    model: type[Model], keys: Collection[int]
) -> Mapping[str, Mapping[int, list[Any]]]:
    def rows(of: Any, *columns: str, **narrowed: Any) -> dict[int, list[Any]]:
        found = of.objects.filter(user__in=keys, **narrowed).order_by(*columns)
        return _by_user(found.values_list("user_id", *columns))

    user: Any = model
    get_model = user._meta.apps.get_model
    permission = [f"permission__{name}" for name in ("content_type__app_label", "codename")]
    return {
        "groups": rows(user.groups.through, "group__name"),
        "user_permissions": rows(user.user_permissions.through, *permission),
        "sites": rows(get_model("clinical_sites", "Membership"), "site__site_id"),
        "key": rows(get_model("otp_totp", "TOTPDevice"), "key", confirmed=True),
    }


def _by_user(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for user, *values in rows:
        found[user].append(list(map(str, values)))
    return dict(found)
