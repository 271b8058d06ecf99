"""Tokens: their scopes and validity, and how they are created and revoked in the admin."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from api.http import auth
from audit.ledger.queries import list_entries
from sites import token_secrets
from sites.models import ApiToken, TokenScope
from tests.api.conftest import Program, make_token
from tests.factories import make_site, make_user


@pytest.fixture
def admin(client, db):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture(autouse=True)
def _reset_bad_tokens(monkeypatch):
    monkeypatch.setattr(auth, "bad_tokens", auth.BadTokenCounter())


def form(**fields):
    return {"name": "eISF", "scopes": ["read", "submit"], "days": "30"} | fields


def test_only_a_hash_of_the_secret_is_stored(site):
    token, secret = make_token(site=site)
    row = ApiToken.objects.filter(pk=token.pk).values().get()
    assert secret not in str(row)
    assert secret.split("_", 2)[2] not in str(row)
    assert token.digest == token_secrets.parse(secret).digest
    assert ApiToken.objects.find_usable(secret) == token


def test_a_different_secret_matches_no_token(site):
    _, secret = make_token(site=site)
    last = "B" if secret.endswith("A") else "A"
    for other in (secret[:-1] + last, secret + "x", secret.upper(), secret[:-1]):
        assert ApiToken.objects.find_usable(other) is None


@pytest.mark.parametrize(
    "sent",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer slt_0000_x", "Bearer x y", "bearer \u00e9"],
)
def test_an_invalid_authorization_header_has_status_401(program, sent):
    response = program.get("sites", authorization=sent)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_the_authentication_scheme_is_not_case_sensitive(program):
    assert program.get("sites", authorization=f"bearer {program.secret}").status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}, {"digest": "0" * 64}],
    ids=["revoked", "expired", "of another secret"],
)
def test_a_revoked_expired_or_changed_token_is_refused(program, change):
    ApiToken.objects.filter(pk=program.token.pk).update(**change)
    response = program.get("sites")
    assert response.status_code == 401
    assert 'error="invalid_token"' in response["WWW-Authenticate"]


@pytest.mark.parametrize("column", ["is_active", "is_staff"])
def test_a_persons_token_ends_with_the_persons_access(ops, column):
    person = ops.token.user
    type(person).objects.filter(pk=person.pk).update(**{column: False})
    assert ops.get("sites").status_code == 401


def test_a_token_permits_only_its_scopes(site, make_line):
    program = Program(*make_token(TokenScope.READ, site=site))
    assert program.get("documents").status_code == 200
    response = program.submit({"documents": [make_line(site)]})
    assert response.status_code == 403
    assert "'submit'" in response.json()["detail"]
    assert program.get("documents/1/content").status_code == 403


def test_an_address_with_many_bad_tokens_gets_429_and_one_log_line_per_minute(
    program, settings, caplog
):
    settings.API_BAD_TOKENS_PER_MINUTE = 3
    bad = Program(program.token, token_secrets.generate().text)
    answers = [bad.get("sites") for _ in range(12)]
    assert {answer.status_code for answer in answers} == {401, 429}
    waits = [answer["Retry-After"] for answer in answers if answer.status_code == 429]
    assert set(waits) == {"60"}
    assert program.get("sites").status_code == 200, "a valid token still works"
    lines = [each for each in caplog.messages if "bad API token" in each]
    assert 1 <= len(lines) <= 2  # one for each minute in which the test runs


def test_the_last_use_of_a_token_is_not_written_with_every_request(
    program, django_assert_num_queries
):
    assert program.get("sites").status_code == 200
    used_at = ApiToken.objects.get(pk=program.token.pk).last_used_at
    assert used_at is not None
    with django_assert_num_queries(3):  # the token, sites and sources; nothing is written
        program.get("sites")
    old = timezone.now() - timedelta(minutes=11)
    ApiToken.objects.filter(pk=program.token.pk).update(last_used_at=old)
    program.get("sites")
    assert ApiToken.objects.get(pk=program.token.pk).last_used_at > old + timedelta(minutes=5)


def test_the_admin_shows_a_token_once_and_records_it_without_its_secret(admin, site):
    answer = admin.post("/admin/clinical_sites/apitoken/add/", form(site=site.pk))
    assert answer.status_code == 200, answer.content
    secret = re.search(r"slt_[0-9a-f]{12}_[\w-]{43}", answer.content.decode())[0]
    token = ApiToken.objects.get()
    assert token_secrets.parse(secret).digest == token.digest
    assert timedelta(days=29) < token.expires_at - timezone.now() < timedelta(days=31)
    entry = list_entries(f"apitoken:{token.pk}")[0]
    assert (entry.event, entry.site) == ("apitoken.created", "0203")
    assert secret not in str(entry)
    assert token.digest not in str(entry)
    assert entry.detail["changes"]["digest"] == {"old": "(not shown)", "new": "(not shown)"}
    assert "no-store" in answer["Cache-Control"]
    for address in ("", f"{token.pk}/change/"):
        page = admin.get(f"/admin/clinical_sites/apitoken/{address}").content.decode()
        assert token.prefix in page
        assert secret not in page
        assert token.digest not in page


def test_revoking_a_token_in_the_admin_is_recorded(admin, program):
    token = program.token
    chosen = {"action": "revoke", "_selected_action": [token.pk]}
    reason = "The program was replaced."
    admin.post("/admin/clinical_sites/apitoken/", chosen | {"reason_for_change": reason})
    assert program.get("sites").status_code == 401
    entry = list_entries(f"apitoken:{token.pk}")[-1]
    assert entry.event == "apitoken.changed"
    assert entry.detail["changes"]["revoked_at"]["old"] is None


def test_a_token_can_be_neither_changed_nor_deleted(admin, program):
    address = f"/admin/clinical_sites/apitoken/{program.token.pk}"
    admin.post(f"{address}/change/", form(name="other", scopes=["operate"]))
    assert admin.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    unchanged = ApiToken.objects.get()
    assert (unchanged.name, unchanged.scopes) == (program.token.name, program.token.scopes)


def test_operations_can_create_tokens_for_staff_only_for_themselves(client, site):
    person, other = make_user("omar", is_staff=True), make_user("ada", is_staff=True)
    person.groups.set(Group.objects.filter(name="Operations"))
    client.force_login(person)
    address = "/admin/clinical_sites/apitoken/add/"
    client.post(address, form(user=other.pk, scopes=["operate"]))
    assert not ApiToken.objects.exists()
    client.post(address, form(user=person.pk, scopes=["operate"]))
    assert ApiToken.objects.get().user == person
    client.force_login(make_user("rita", is_staff=True))
    assert client.get(address).status_code == 403


@pytest.mark.parametrize("fields", [(), ("site", "user")], ids=["no owner", "two owners"])
def test_a_token_belongs_to_exactly_one_site_or_person(site, fields):
    owners = {"site": site, "user": make_user(is_staff=True)}
    token = ApiToken(name="x", **{name: owners[name] for name in fields})
    with pytest.raises(ValidationError):
        token.full_clean(exclude=["prefix", "digest"])
    with pytest.raises(IntegrityError), transaction.atomic():
        token.save()


def test_coordinators_get_no_tokens_and_sites_no_scope_operate(site):
    with pytest.raises(ValidationError, match="staff"):
        ApiToken(name="x", user=make_user(sites=(make_site("0001"),))).clean()
    with pytest.raises(ValidationError, match="operate"):
        ApiToken(name="x", site=site, scopes=["operate"]).clean()
