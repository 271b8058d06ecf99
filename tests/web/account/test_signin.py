"""Sign-in of all roles, and their start pages."""

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from tests.factories import make_user

pytestmark = pytest.mark.django_db


def sign_in(client, user, **fields):
    return client.post("/login/", {"username": user, "password": "correct horse", **fields})


def test_coordinators_start_at_their_packets(client, mara):
    assert sign_in(client, "mara").url == "/"


STARTS = [
    ("Regulatory affairs", "trail"),
    ("QA reviewers", "review_queue"),
    ("Operations", "ops"),
    ("", "admin:index"),
]


@pytest.mark.parametrize(("role", "page"), STARTS)
def test_each_role_starts_at_its_own_page(client, ines, role, page):
    ines.groups.set(Group.objects.filter(name=role))
    there = reverse(page)
    assert sign_in(client, "ines").url == there
    assert client.get("/").url == there
    assert client.get(there).status_code == 200


def test_people_with_several_roles_start_at_the_trail_and_administrators_at_the_index(client):
    everybody = make_user("all", is_staff=True)
    everybody.groups.set(Group.objects.all())
    assert sign_in(client, "all").url == "/admin/audit/"
    everybody.is_superuser = True
    everybody.save()
    assert client.get("/").url == "/admin/"


def test_sign_in_leads_to_the_requested_page(client, mara):
    assert sign_in(client, "mara", next="/packets/new/").url == "/packets/new/"


def test_sign_in_never_redirects_to_another_host(client, mara):
    assert sign_in(client, "mara", next="https://elsewhere.example/").url == "/"


@pytest.mark.parametrize("name", ["mara", "nobody"])
def test_a_wrong_password_and_an_unknown_name_have_the_same_message(client, mara, name):
    page = sign_in(client, name, password="wrong").content.decode()
    assert "The user name or password is incorrect." in page
    assert "<title>Error: Sign in" in page


def test_an_inactive_account_has_the_same_message(client):
    make_user("gone", is_active=False)
    page = sign_in(client, "gone").content.decode()
    assert "The user name or password is incorrect." in page


def test_the_admin_redirects_to_the_sign_in_page(client, db):
    assert client.get("/admin/login/?next=/admin/audit/").url == "/login/?next=/admin/audit/"
    assert (
        client.get("/admin/ingestion/document/", follow=True)
        .redirect_chain[-1][0]
        .startswith("/login/?next=")
    )


def test_signed_in_staff_skip_the_sign_in_page(client, ines):
    client.force_login(ines)
    assert client.get("/admin/login/").url == "/admin/"
    assert client.get("/login/").url == "/admin/audit/"


def test_a_coordinator_in_the_admin_gets_403_instead_of_a_redirect_loop(signed_in):
    answer = signed_in.get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "You do not have access to this page" in answer.content.decode()


def test_signing_out_requires_a_post_request(signed_in):
    assert signed_in.get("/logout/").status_code == 405
    assert signed_in.post("/logout/").url == "/login/"
    assert signed_in.get("/").url == "/login/?next=/"
