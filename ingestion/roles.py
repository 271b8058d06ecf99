"""Defines the permissions of each group of staff.

Roles are code: `install()` runs after every migration and resets each group to its definition in
this module. Administrators are superusers. Coordinators are not staff and need no group, because
their membership of a site decides what they see.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.models import Q

from audit.ledger import queries
from audit.ledger.log import ledger, record
from audit.verification.verify import VerificationNotice
from sites import account_changes
from sites.roles import (
    AUDITORS,
    OPERATORS,
    QA_LEADS,
    QA_REVIEWERS,
    REGULATORY_AFFAIRS,
)


def _may(verbs: str, *models: str) -> frozenset[str]:
    """Permissions as "app.verb_model", for "view change" and "app.model", ..."""
    named = (model.split(".") for model in models)
    return frozenset(f"{app}.{verb}_{model}" for app, model in named for verb in verbs.split())


_RECORDS = _may(
    "view",
    "ingestion.batch",
    "ingestion.packet",
    "ingestion.document",
    "ingestion.finding",
    "ingestion.decision",
)
_PLACES = _may("view", *(f"clinical_sites.{model}" for model in ("site", "study", "legalhold")))
_KEEPS = _may("change", "clinical_sites.study") | _may("add change", "clinical_sites.legalhold")
_PEOPLE = _may("view", "clinical_sites.user", "clinical_sites.membership")
_REVIEWS_PEOPLE = _may("review", "clinical_sites.user")
_TRAIL = _may("view", "audit.entry", "audit.auditreview")
_REVIEWS = _may("add", "audit.auditreview")
_PROVES = _may("check export", "audit.ledger")
_LAID_DOWN = ("requireddocument", "siterequirement", "validityoverride")
_NEEDS = _may("view", *(f"ingestion.{model}" for model in (*_LAID_DOWN, "waiver")))
_WAIVES = _may("add change", "ingestion.waiver")
_LAYS_DOWN = _may("add change delete", *(f"ingestion.{model}" for model in _LAID_DOWN))
_QA = (
    _RECORDS | _PLACES | _TRAIL | _REVIEWS | _NEEDS | _WAIVES | _may("review", "ingestion.document")
)

_NAME_FIELDS = ("content_type__app_label", "codename")

ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        QA_REVIEWERS: _QA,
        # With the second permission: they may file in spite of a finding.
        QA_LEADS: _QA | _may("override", "ingestion.document"),
        REGULATORY_AFFAIRS: _RECORDS
        | _PLACES
        | _PEOPLE
        | _REVIEWS_PEOPLE
        | _TRAIL
        | _REVIEWS
        | _PROVES
        | _KEEPS
        | _NEEDS
        | _WAIVES
        | _LAYS_DOWN,
        OPERATORS: _RECORDS
        | _NEEDS
        | _may("view", "ingestion.chunk")
        | _may("retry", "ingestion.document")
        | _may("cancel", "ingestion.batch")
        | _may("view add change", "clinical_sites.site", "clinical_sites.study")
        | _may("view add change", "clinical_sites.portal", "clinical_sites.apitoken")
        | _may(
            "view", "django_q.schedule", "django_q.success", "django_q.failure", "django_q.ormq"
        ),
        # Read-only whatever else is given (web.account.auditors).
        AUDITORS: _RECORDS | _PLACES | _PEOPLE | _TRAIL | _NEEDS | _may("export", "audit.ledger"),
    }
)


def install() -> None:
    """Idempotent. Permissions of apps that are not migrated yet are given by the next migration."""
    tables = connection.introspection.table_names()
    if not {Group._meta.db_table, "audit_entry"}.issubset(tables):
        return  # a partial migration: the next one calls again
    for name, permissions in ROLES.items():
        group, _ = Group.objects.get_or_create(name=name)
        given = set(group.permissions.select_related("content_type"))
        wanted = set(_existing(permissions))
        if given != wanted:
            _give(group, given, wanted)


def roles_are_as_installed(_since: int = 0) -> Iterator[str]:
    """Yield a sentence for each group whose permissions are not those of its role.

    For `audit.verification.verify`. A group that is none of the product's is a Notice: its
    permissions are not on record.
    """
    # Verification runs after every batch, so this reads names in two queries and no models.
    existing = {
        f"{app}.{codename}"
        for app, codename in Permission.objects.order_by().values_list(*_NAME_FIELDS)
    }
    groups: defaultdict[str, set[str]] = defaultdict(set)
    fields = (f"permissions__{field}" for field in _NAME_FIELDS)
    for name, app, codename in Group.objects.order_by().values_list("name", *fields):
        groups[name] |= {f"{app}.{codename}"} if codename else set()
    for name, permissions in ROLES.items():
        if name not in groups:
            yield f"The group {name} is gone."
            continue
        wanted = permissions & existing
        changes = [(groups[name] - wanted, "added"), (wanted - groups[name], "removed")]
        differences = [f"{', '.join(sorted(names))} was {verb}" for names, verb in changes if names]
        if differences:
            yield f"The group {name} has other permissions than its role: {'; '.join(differences)}."
    for name in sorted(groups.keys() - ROLES.keys()):
        yield VerificationNotice(
            f"The permissions of the group {name} cannot be checked: it is not a role."
        )


def _give(group: Group, given: set[Permission], wanted: set[Permission]) -> None:
    """On record, except in an empty ledger: then nobody has an account, and the code is all."""
    with ledger():
        group.permissions.set(wanted)
        if queries.last_entry() is None:
            return
        changes = {"old": _named(given), "new": _named(wanted)}
        record(
            "group.changed",
            subject=f"group:{group.pk}",
            by=account_changes.current_actor(),
            detail={"object": group.name, "changes": {"permissions": changes}},
        )


def _named(permissions: Iterable[Permission]) -> list[str]:
    return sorted(f"{each.content_type.app_label}.{each.codename}" for each in permissions)


def _existing(permissions: Iterable[str]) -> list[Permission]:
    wanted = Q(pk__in=[])
    for permission in permissions:
        app, codename = permission.split(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    return list(Permission.objects.filter(wanted).select_related("content_type"))
