"""Tests that verification compares accounts, memberships, roles and API tokens with the ledger.

Changes by SQL beside the application are reported. No change through the application is reported.
"""

import re
from dataclasses import replace
from datetime import timedelta
from importlib import import_module

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from django_otp.oath import TOTP

from audit.ledger import bound_rows, queries, redaction
from audit.ledger.actors import Actor
from audit.models import Entry
from audit.verification import verify
from audit.verification.start import Mode
from sites import account_changes
from sites.accounts import second_factor
from sites.eligibility import Missing
from sites.models import ApiToken, TokenScope, User
from tests.audit.support import sql
from tests.factories import make_site, make_staff, make_user, put_on_record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("every_row")]

ADMINISTRATOR = "ada"
UPGRADE = "0012_pre_entries_bind_accounts_and_tokens"
PASSWORD = "horse battery staple"
REASON = "Asked for in ticket 4711."


@pytest.fixture
def mara(site):
    person = make_user("mara", sites=(site,), printed_name="Mara Lindqvist")
    make_staff("QA leads", "helena")
    put_on_record()
    return person


@pytest.fixture
def ada():
    return User.objects.create_superuser(ADMINISTRATOR, "a@b.example", PASSWORD)


@pytest.fixture
def token(site):
    made = ApiToken(name="CTMS", site=site, scopes=[TokenScope.READ])
    made.generate_secret()
    made.save()
    put_on_record()
    return made


def problems(mode=Mode.FULL):
    return [str(each) for each in verify.verify_ledger(mode).problems]


def notices():
    return [each for each in verify.verify_ledger().notices if "cannot be checked" in each]


def test_recorded_rows_cause_no_problems(mara, token):
    assert problems() == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("is_superuser", True),
        ("is_staff", True),
        ("is_active", False),
        ("printed_name", "Mara Lindquist"),
        ("identity_verified_at", timezone.now() - timedelta(days=400)),
        ("identity_evidence", "Passport."),
        ("email", "mallory@evil.example"),
        ("password", "md5$salt$0123456789abcdef0123456789abcdef"),
        ("access_until", "2030-01-01"),
    ],
)
def test_a_column_of_an_account_that_was_changed_by_sql_is_reported(mara, column, value):
    change = f"{column} = %s"
    sql(f"UPDATE clinical_sites_user SET {change} WHERE id = %s", value, mara.pk)  # noqa: S608
    (problem,) = problems()
    assert problem.startswith(f"user:{mara.pk} is not as entry ")
    assert f" {column} changed " in problem
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit")
    assert ended.value.code == 1


def test_a_superuser_that_was_inserted_by_sql_is_reported(mara):
    mallory = make_user("mallory", is_staff=True, is_superuser=True)
    assert problems() == [
        f"user:{mallory.pk} is in the database, but no entry records its creation."
    ]


def test_an_account_that_was_deleted_by_sql_is_reported(mara, site):
    sql("DELETE FROM clinical_sites_membership")
    sql("DELETE FROM clinical_sites_user WHERE id = %s", mara.pk)
    assert problems() == [f"user:{mara.pk} is in the ledger, but its row is missing."]


def test_a_membership_that_was_added_or_removed_by_sql_is_reported(mara, site):
    other = make_site("0999")
    sql("INSERT INTO clinical_sites_membership (user_id, site_id) VALUES (%s, %s)",
        mara.pk, other.pk)  # fmt: skip
    assert re.fullmatch(rf"user:{mara.pk} is not as .* sites changed .*", problems()[0])
    sql("DELETE FROM clinical_sites_membership WHERE site_id = %s", other.pk)
    assert problems() == []
    sql("DELETE FROM clinical_sites_membership")
    assert re.fullmatch(rf"user:{mara.pk} is not as .* sites changed .*", problems()[0])


def test_a_group_or_permission_that_sql_gave_to_an_account_is_reported(mara):
    group = Group.objects.get(name="QA leads")
    sql("INSERT INTO clinical_sites_user_groups (user_id, group_id) VALUES (%s, %s)",
        mara.pk, group.pk)  # fmt: skip
    permission = Permission.objects.get(codename="override_document")
    sql("INSERT INTO clinical_sites_user_user_permissions (user_id, permission_id) VALUES (%s, %s)",
        mara.pk, permission.pk)  # fmt: skip
    assert " groups, user_permissions changed " in problems()[0]


def test_a_permission_that_sql_gave_to_a_role_is_reported(mara):
    group = Group.objects.get(name="Operations")
    permission = Permission.objects.get(codename="override_document")
    sql("INSERT INTO auth_group_permissions (group_id, permission_id) VALUES (%s, %s)",
        group.pk, permission.pk)  # fmt: skip
    (problem,) = problems()
    assert problem == (
        "The group Operations has other permissions than its role. Added: "
        "ingestion.override_document."
    )
    group.permissions.remove(permission)
    sql("UPDATE auth_group SET name = 'QA chiefs' WHERE name = 'QA leads'")
    reported = problems()
    assert any(" groups changed " in each for each in reported)
    assert "The group QA leads does not exist any more." in reported


def test_a_second_factor_that_was_inserted_by_sql_is_reported(mara):
    sql(
        "INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0, digits, "
        "tolerance, drift, last_t, throttling_failure_count) "
        "VALUES (%s, 'an app', %s, %s, 30, 0, 6, 1, 0, 0, 0)",
        mara.pk, True, "00" * 20,
    )  # fmt: skip
    assert " key changed " in problems()[0]


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ("scopes = %s", ['["read", "submit", "operate"]']),
        ("digest = %s", ["0" * 64]),
        ("expires_at = %s", [timezone.now() + timedelta(days=4000)]),
        ("revoked_at = NULL, prefix = %s", ["abcdefabcdef"]),
    ],
)
def test_a_token_that_was_changed_by_sql_is_reported(token, change, values):
    sql(f"UPDATE clinical_sites_apitoken SET {change} WHERE id = %s", *values, token.pk)  # noqa: S608
    (problem,) = problems()
    assert problem.startswith(f"apitoken:{token.pk} is not as entry ")


def test_a_token_that_was_inserted_or_deleted_by_sql_is_reported(token, site):
    forged = ApiToken(name="forged", site=site, scopes=[TokenScope.SUBMIT])
    forged.generate_secret()
    forged.save()
    assert problems() == [
        f"apitoken:{forged.pk} is in the database, but no entry records its creation."
    ]
    sql("DELETE FROM clinical_sites_apitoken")
    assert problems() == [f"apitoken:{token.pk} is in the ledger, but its row is missing."]


def test_an_unrecorded_change_is_still_reported_after_a_recorded_one(mara):
    sql("UPDATE clinical_sites_user SET is_superuser = %s WHERE id = %s", True, mara.pk)
    with account_changes.record_own_changes(User.objects.get(pk=mara.pk)) as row:
        row.email = "mara@site.example"
    (problem,) = problems()
    assert re.fullmatch(
        rf"user:{mara.pk}: is_superuser changed before entry \d+ without an entry.",
        problem,
    )


def test_an_account_without_a_first_entry_is_still_reported_after_a_recorded_change(mara):
    mallory = make_user("mallory", is_superuser=True)
    with account_changes.record_own_changes(mallory) as row:
        row.email = "mallory@evil.example"
    (problem,) = problems()
    assert re.fullmatch(
        rf"user:{mallory.pk} is in the database, but no entry before \d+ .*", problem
    )


def test_a_row_with_a_redacted_detail_causes_a_notice_and_no_problem(mara):
    entry = Entry.objects.get(subject=mara.actor_name)
    redaction.redact_entry(
        entry.pk, reason=REASON, by=Actor("system:redact", "operations"), authorised_by="user:1"
    )
    verdict = verify.verify_ledger()
    assert verdict.problems == ()
    assert notices() == [
        f"user:{mara.pk} cannot be checked: the detail of entry {entry.pk} is redacted."
    ]
    sql("UPDATE clinical_sites_user SET is_superuser = %s WHERE id = %s", True, mara.pk)
    with account_changes.record_own_changes(User.objects.get(pk=mara.pk)) as row:
        row.email = "mara@site.example"
    sql("UPDATE clinical_sites_user SET is_staff = %s WHERE id = %s", True, mara.pk)
    assert " is_staff changed " in problems()[0], "later entries bind the row again"


def test_a_row_with_entries_of_an_earlier_release_causes_a_notice(mara, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(bound_rows, "KINDS", {})  # that release bound no rows
        older = User.objects.create_user("older", password=PASSWORD)
    assert problems() == []
    (notice,) = notices()
    assert notice == (
        f"user:{older.pk} cannot be checked: its entries were written by an earlier release, which "
        "did not record the contents of rows."
    )


def test_the_upgrade_records_accounts_and_tokens_which_are_verified_from_then_on(site):
    person = make_user("mara", sites=(site,))
    made = ApiToken(name="CTMS", site=site, scopes=[TokenScope.READ])
    made.generate_secret()
    made.save()
    historical_apps = MigrationLoader(connection).project_state([("clinical_sites", UPGRADE)]).apps
    import_module(f"sites.migrations.{UPGRADE}").record_rows(historical_apps, None)
    (entry,) = queries.list_entries(person.actor_name)
    assert entry.event == "user.recorded"
    assert "are not covered by checks of the ledger" in entry.detail["reason"]
    assert problems() == []
    sql("UPDATE clinical_sites_user SET is_superuser = %s", True)
    sql("UPDATE clinical_sites_apitoken SET digest = %s", "0" * 64)
    assert len(problems()) == 2


def test_a_field_that_a_later_release_adds_is_expected_to_have_its_default(mara, monkeypatch):
    kind = bound_rows.KINDS["user"]
    with monkeypatch.context() as earlier:
        earlier.setitem(
            bound_rows.KINDS, "user", replace(kind, left_out=kind.left_out | {"access_until"})
        )
        older = User.objects.create_user("older", password=PASSWORD)
    assert "access_until" not in queries.list_entries(older.actor_name)[0].detail["row"]
    assert problems() == []
    sql("UPDATE clinical_sites_user SET access_until = '2030-01-01' WHERE id = %s", older.pk)
    assert " access_until changed " in problems()[0]


@pytest.mark.parametrize("mode", list(Mode))
def test_every_mode_of_verification_covers_all_accounts(mara, mode):
    sql("UPDATE clinical_sites_user SET is_superuser = %s WHERE id = %s", True, mara.pk)
    assert " is_superuser changed " in problems(mode)[0]


def test_accounts_created_in_the_shell_and_by_commands_cause_no_problems(ada, site, settings):
    settings.DEBUG = True
    User.objects.create_user("mara", password=PASSWORD)
    call_command("demo_users")
    call_command("demo_users")
    assert problems() == []


def test_a_persons_changes_to_their_own_account_cause_no_problems(mara):
    account_changes.acknowledge(mara, Missing.TRAINING)
    device = second_factor.begin_setup(mara)
    code = f"{TOTP(device.bin_key).token():06}"
    assert second_factor.set_up(User.objects.get(pk=mara.pk), code)
    assert problems() == []


@pytest.mark.django_db(transaction=True)
def test_a_password_hash_that_is_renewed_at_sign_in_is_recorded(client, mara, settings):
    before = User.objects.get(pk=mara.pk).password
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    client.post("/login/", {"username": "mara", "password": "correct horse"})
    assert User.objects.get(pk=mara.pk).password != before
    assert problems() == []
    (entry,) = queries.find_entries(queries.EntrySearch(event="user.changed"))
    assert entry.detail["changes"] == {"password": {"old": "(not shown)", "new": "(not shown)"}}


class TestInTheAdmin:
    """Changes of administrators in the admin cause no problems."""

    @pytest.fixture(autouse=True)
    def signed_in(self, client, ada, mara):
        client.force_login(ada)

    def post(self, client, path, **form):
        response = client.post(
            f"/admin/clinical_sites/{path}", {"reason_for_change": REASON} | form
        )
        assert response.status_code in {200, 302}, response.content
        return response

    def person_form(self, **changed):
        form = {"printed_name": "Mara Lindqvist", "email": "", "is_active": "on",
                "access_from": "", "access_until": "", "identity_evidence": "",
                "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}  # fmt: skip
        return form | changed

    def test_an_added_and_a_changed_account(self, client, mara, site):
        other = make_site("0999")
        membership = mara.memberships.get()
        new = {"username": "jonas", "password1": PASSWORD, "password2": PASSWORD,
               "usable_password": "true"}  # fmt: skip
        self.post(client, "user/add/", **self.person_form(**new))
        person = User.objects.get(username="jonas")
        leads = Group.objects.get(name="QA leads").pk
        form = self.person_form(
            is_staff="on", groups=[leads], identity_evidence="Passport, by Ada."
        )
        self.post(client, f"user/{person.pk}/change/", **form)
        assert list(User.objects.get(pk=person.pk).groups.values_list("pk", flat=True)) == [leads]
        form = self.person_form(**{
            "memberships-TOTAL_FORMS": "2", "memberships-INITIAL_FORMS": "1",
            "memberships-0-id": membership.pk, "memberships-0-user": mara.pk,
            "memberships-0-site": site.pk, "memberships-0-DELETE": "on",
            "memberships-1-user": mara.pk, "memberships-1-site": other.pk,
        })  # fmt: skip
        self.post(client, f"user/{mara.pk}/change/", **form)
        assert [str(each.site_id) for each in mara.memberships.all()] == [str(other.pk)]
        assert problems() == []

    def test_actions_in_the_list_of_accounts(self, client, mara):
        device = second_factor.begin_setup(mara)
        second_factor.set_up(User.objects.get(pk=mara.pk), f"{TOTP(device.bin_key).token():06}")
        for action in ("unlock", "reset_second_factor", "train_again"):
            self.post(client, "user/", action=action, _selected_action=[mara.pk])
        assert User.objects.get(pk=mara.pk).second_factor_since is None
        assert problems() == []

    def test_a_created_used_and_revoked_token(self, client, site):
        form = {"name": "CTMS", "site": site.pk, "user": "", "scopes": ["read"], "days": "30"}
        self.post(client, "apitoken/add/", **form)
        made = ApiToken.objects.get()
        made.record_use()
        self.post(client, "apitoken/", action="revoke", _selected_action=[made.pk])
        assert ApiToken.objects.get().revoked_at
        assert problems() == []

    def test_a_site_with_members_cannot_be_deleted(self, client, site, mara):
        response = client.post(
            f"/admin/clinical_sites/site/{site.pk}/delete/",
            {"post": "yes", "reason_for_change": REASON},
        )
        assert response.status_code == 403
        assert mara.memberships.exists()
