"""No way around the ledger in our own code: what writes to people's records is known by name.

`update()`, `bulk_update()` and many-to-many relations leave no entry by themselves, and no database
could tell whether one comes later in the transaction. So each such line stands in a door, which is
listed here with what keeps it on record (R04).
"""

import ast
from pathlib import Path

import pytest
from django.contrib import admin

from audit.change_tracking.audited_admin import LedgerAdminMixin

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("api", "audit", "config", "ingestion", "qualification", "samples", "sites", "web")
WRITES = {
    "create", "get_or_create", "update_or_create", "bulk_create", "bulk_update", "update", "delete",
    "create_user", "create_superuser",
}  # fmt: skip
RELATIONS = {"groups", "user_permissions", "permissions", "memberships"}
CHANGES = {"set", "add", "remove", "clear", *WRITES}

DOORS = {
    "qualification/management/commands/demo_users.py": "inside account_changes.record_changes()",
    "ingestion/roles.py": "enters what an upgrade changes",
    "sites/models/api_tokens.py": "when a token was last used: no change of the token",
    "sites/models/users.py": "an outdated hash of a password, inside accounts.by_themselves()",
    "sites/accounts/password_changes.py": "inside accounts.by_themselves()",
    "sites/site_import.py": "enters each row that it keeps",
    "sites/accounts/sessions.py": "marks of sessions: their beginnings and ends are entries",
}


def tracked():
    """The names of the models whose every change in the admin is an entry, and what joins them."""
    pages = admin.site._registry.items()
    names = {model.__name__ for model, page in pages if isinstance(page, LedgerAdminMixin)}
    return names | {"Membership", "Group"}


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def attributes_in(node):
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def writes(source, models):
    """The lines that change rows of these models, or a relation of people, past `save()`."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        verb, of = node.func.attr, node.func.value
        managers = attributes_in(of) & {"objects", "_default_manager", "_base_manager"}
        of_any = managers - {"objects"}  # whose model only running it would tell
        to_rows = verb in WRITES and (of_any or (managers and names_in(of) & models))
        to_relation = verb in CHANGES and RELATIONS & attributes_in(of)
        if to_rows or to_relation or verb == "set_password":
            yield f"{node.lineno}: {ast.unparse(node)[:80]}"


def sources():
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if "migrations" not in path.parts and "samples" not in path.parts:
                yield name, path.read_text()


@pytest.mark.requirement("R04")
@pytest.mark.requirement("R09")
def test_nothing_writes_past_the_doors():
    models = tracked()
    found = {name: list(writes(source, models)) for name, source in sources()}
    past = {name: lines for name, lines in found.items() if lines and name not in DOORS}
    assert past == {}, "move it behind a door that records it, or make it one"


@pytest.mark.parametrize(
    "line",
    [
        "Site.objects.filter(pk=1).update(name='x')",
        "User.objects.bulk_update(people, ['is_staff'])",
        "person.groups.add(group)",
        "Group.objects.get().permissions.set([])",
        "person.user_permissions.clear()",
        "person.set_password('x')",
        "Membership.objects.get_or_create(user=user, site=site)",
        "model._default_manager.filter(pk=1).update(name='x')",
    ],
)
def test_a_line_that_goes_past_them_is_seen(line):
    assert list(writes(line, tracked()))


def test_no_door_is_listed_that_is_none():
    models = tracked()
    assert DOORS.keys() == {name for name, source in sources() if list(writes(source, models))}
