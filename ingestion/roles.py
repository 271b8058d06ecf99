"""Defines the permissions of each role of staff. A role is a group.

Roles are code: `install` runs after every migration and restores the groups as they are defined
here. Administrators are superusers. Coordinators are not staff and need no group, because their
membership of a site decides what they see.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext as _

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


def _permissions(actions: str, *models: str) -> frozenset[str]:
    """Return permissions as "app.action_model", for "view change" and "app.model", ..."""
    pairs = (model.split(".") for model in models)
    return frozenset(
        f"{app}.{action}_{model}" for app, model in pairs for action in actions.split()
    )


_VIEW_RECORDS = _permissions(
    "view",
    "ingestion.batch",
    "ingestion.packet",
    "ingestion.document",
    "ingestion.finding",
    "ingestion.decision",
    "ingestion.learnedmodel",
)
_VIEW_SITES = _permissions(
    "view", *(f"clinical_sites.{model}" for model in ("site", "study", "legalhold"))
)
_CHANGE_RETENTION = _permissions("change", "clinical_sites.study") | _permissions(
    "add change", "clinical_sites.legalhold"
)
_VIEW_PEOPLE = _permissions("view", "clinical_sites.user", "clinical_sites.membership")
_REVIEW_ACCESS = _permissions("review", "clinical_sites.user")
_VIEW_TRAIL = _permissions("view", "audit.entry", "audit.auditreview")
_REVIEW_TRAIL = _permissions("add", "audit.auditreview")
_VERIFY_AND_EXPORT_TRAIL = _permissions("check export", "audit.ledger")
_VIEW_JOBS = _permissions("view", "audit.auditjob")
_VERIFY_ARCHIVE = _permissions("verify", "audit.archive")
_REQUIREMENT_MODELS = ("requireddocument", "siterequirement", "validityoverride")
_VIEW_REQUIREMENTS = _permissions(
    "view", *(f"ingestion.{model}" for model in (*_REQUIREMENT_MODELS, "waiver"))
)
_CHANGE_WAIVERS = _permissions("add change", "ingestion.waiver")
_CHANGE_REQUIREMENTS = _permissions(
    "add change delete", *(f"ingestion.{model}" for model in _REQUIREMENT_MODELS)
)
_REVIEW_DOCUMENTS = (
    _VIEW_RECORDS
    | _VIEW_SITES
    | _VIEW_TRAIL
    | _REVIEW_TRAIL
    | _VIEW_REQUIREMENTS
    | _CHANGE_WAIVERS
    | _permissions("review", "ingestion.document")
)

_NAME_FIELDS = ("content_type__app_label", "codename")

ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        QA_REVIEWERS: _REVIEW_DOCUMENTS,
        # The second permission allows them to file a document in spite of a finding.
        QA_LEADS: _REVIEW_DOCUMENTS
        | _permissions("override", "ingestion.document")
        | _permissions("sign", "ingestion.assessment")
        | _VIEW_JOBS
        | _permissions("activate", "ingestion.learnedmodel"),
        REGULATORY_AFFAIRS: _VIEW_RECORDS
        | _VIEW_SITES
        | _VIEW_PEOPLE
        | _REVIEW_ACCESS
        | _VIEW_TRAIL
        | _REVIEW_TRAIL
        | _VERIFY_AND_EXPORT_TRAIL
        | _VIEW_JOBS
        | _VERIFY_ARCHIVE
        | _CHANGE_RETENTION
        | _VIEW_REQUIREMENTS
        | _CHANGE_WAIVERS
        | _CHANGE_REQUIREMENTS,
        OPERATORS: _VIEW_RECORDS
        | _VIEW_REQUIREMENTS
        | _permissions("view", "ingestion.chunk")
        | _permissions("retry", "ingestion.document")
        | _permissions("cancel", "ingestion.batch")
        | _VIEW_JOBS
        | _VERIFY_ARCHIVE
        | _permissions("create", "audit.backup")
        | _permissions("cancel", "audit.job")
        | _permissions("view add change", "clinical_sites.site", "clinical_sites.study")
        | _permissions("view add change", "clinical_sites.portal", "clinical_sites.apitoken")
        | _permissions(
            "view", "django_q.schedule", "django_q.success", "django_q.failure", "django_q.ormq"
        ),
        # Auditors can only read, whatever other permissions they have (web.account.auditors).
        AUDITORS: _VIEW_RECORDS
        | _VIEW_SITES
        | _VIEW_PEOPLE
        | _VIEW_TRAIL
        | _VIEW_REQUIREMENTS
        | _permissions("export", "audit.ledger"),
    }
)


def install() -> None:
    """Create the groups, and give each the permissions of its role. Idempotent.

    Permissions of apps that are not migrated yet do not exist, and are given after the next
    migration. Changes are recorded, except in an empty ledger: no person has an account then, and
    the permissions are those of the code.
    """
    tables = connection.introspection.table_names()
    if not {Group._meta.db_table, "audit_entry"}.issubset(tables):
        return  # A partial migration. The next migration calls this function again.
    for name, permissions in ROLES.items():
        group, _created = Group.objects.get_or_create(name=name)
        given = set(group.permissions.select_related("content_type"))
        query = Q(pk__in=[])
        for permission in permissions:
            app, codename = permission.split(".")
            query |= Q(content_type__app_label=app, codename=codename)
        wanted = set(Permission.objects.filter(query).select_related("content_type"))
        if given == wanted:
            continue
        with ledger():
            group.permissions.set(wanted)
            if queries.get_last_entry() is None:
                continue
            changes = {"old": _names_of(given), "new": _names_of(wanted)}
            record(
                "group.changed",
                subject=f"group:{group.pk}",
                by=account_changes.get_current_actor(),
                detail={"object": group.name, "changes": {"permissions": changes}},
            )


def check_installed_roles(_since: int = 0) -> Iterator[str]:
    """Yield a sentence for each group whose permissions are not those of its role.

    This is a check of `audit.verification.verify`. A group that is not a role of the product yields
    a VerificationNotice, because the permissions that it should have are not recorded.
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
            yield _("The group {name} does not exist any more.").format(name=name)
            continue
        wanted = permissions & existing
        changes = [
            (_("Added: {permissions}."), groups[name] - wanted),
            (_("Removed: {permissions}."), wanted - groups[name]),
        ]
        if differences := [
            change.format(permissions=", ".join(sorted(names)))
            for change, names in changes
            if names
        ]:
            sentence = _("The group {name} has other permissions than its role. {differences}")
            yield sentence.format(name=name, differences=" ".join(differences))
    for name in sorted(groups.keys() - ROLES.keys()):
        sentence = _("The permissions of the group {name} cannot be checked: it is not a role.")
        yield VerificationNotice(sentence.format(name=name))


def _names_of(permissions: Iterable[Permission]) -> list[str]:
    return sorted(f"{each.content_type.app_label}.{each.codename}" for each in permissions)
