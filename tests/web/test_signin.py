"""One sign-in for everybody, and from there to where each role starts."""

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from tests.factories import make_user

pytestmark = pytest.mark.django_db


def sign_in(client, user, **fields):
    return client.post("/login/", {"username": user, "password": "correct horse", **fields})


def test_a_coordinator_starts_with_the_packets(client, mara):
    assert sign_in(client, "mara").url == "/"


STARTS = [
    ("Regulatory affairs", "trail"),
    ("QA reviewers", "review_queue"),
    ("Operations", "ops"),
    ("", "admin:index"),
]


@pytest.mark.parametrize(("role", "page"), STARTS)
def test_each_role_starts_where_its_work_is(client, ines, role, page):
    ines.groups.set(Group.objects.filter(name=role))
    there = reverse(page)
    assert sign_in(client, "ines").url == there
    assert client.get("/").url == there
    assert client.get(there).status_code == 200


def test_who_has_several_roles_starts_with_the_trail_and_administrators_with_everything(client):
    everybody = make_user("all", is_staff=True)
    everybody.groups.set(Group.objects.all())
    assert sign_in(client, "all").url == "/admin/audit/"
    everybody.is_superuser = True
    everybody.save()
    assert client.get("/").url == "/admin/"


def test_after_signing_in_one_is_where_one_wanted_to_go(client, mara):
    assert sign_in(client, "mara", next="/packets/new/").url == "/packets/new/"


def test_nobody_is_sent_to_another_host_after_signing_in(client, mara):
    assert sign_in(client, "mara", next="https://elsewhere.example/").url == "/"


@pytest.mark.parametrize("name", ["mara", "nobody"])
def test_a_wrong_password_and_an_unknown_name_sound_the_same(client, mara, name):
    page = sign_in(client, name, password="wrong").content.decode()
    assert "The user name or password is incorrect." in page
    assert "<title>Error: Sign in" in page


def test_a_closed_account_sounds_the_same(client):
    make_user("gone", is_active=False)
    page = sign_in(client, "gone").content.decode()
    assert "The user name or password is incorrect." in page


def test_the_admin_has_no_sign_in_of_its_own(client, db):
    assert client.get("/admin/login/?next=/admin/audit/").url == "/login/?next=/admin/audit/"
    assert (
        client.get("/admin/ingestion/document/", follow=True)
        .redirect_chain[-1][0]
        .startswith("/login/?next=")
    )


def test_staff_who_are_signed_in_need_no_sign_in(client, ines):
    client.force_login(ines)
    assert client.get("/admin/login/").url == "/admin/"
    assert client.get("/login/").url == "/admin/audit/"


def test_a_coordinator_in_the_admin_is_told_so_and_not_led_in_a_circle(signed_in):
    answer = signed_in.get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "You do not have access to this page" in answer.content.decode()


def test_signing_out_takes_a_button_and_not_a_link(signed_in):
    assert signed_in.get("/logout/").status_code == 405
    assert signed_in.post("/logout/").url == "/login/"
    assert signed_in.get("/").url == "/login/?next=/"
