"""Every view requires sign-in unless it is marked."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import include, path

from tests.config.addresses import addresses
from tests.factories import make_user
from web.shell.access import CHANGE, READ, restrict_page

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R15")]


PUBLIC = {
    "healthz", "readyz", "metrics",
    "login", "login_code", "logout", "password_link", "session",
}  # fmt: skip
# Views that check their caller themselves and answer 401 instead of a redirect.
OWN_AUTHENTICATION = {
    "api_uploads", "api_upload", "resumable_uploads", "resumable_upload", "upload_allowed",
}  # fmt: skip
# Views of the admin that redirect to the sign-in page themselves.
REDIRECT_TO_SIGN_IN = {"admin:login", "admin:logout"}


def forgotten(request):
    return HttpResponse("secret")


urlpatterns = [path("forgotten/", forgotten), path("", include("config.urls"))]


@pytest.fixture
def with_forgotten_view(settings):
    settings.ROOT_URLCONF = __name__


@pytest.mark.usefixtures("with_forgotten_view")
def test_views_without_a_decorator_require_sign_in(client):
    answer = client.get("/forgotten/")
    assert answer.url == "/login/?next=/forgotten/"
    client.force_login(make_user("mara"))
    assert client.get("/forgotten/").content == b"secret"


def test_exactly_the_listed_views_need_no_sign_in():
    public = {each.name for each in addresses() if not getattr(each.view, "login_required", True)}
    of_programs = {name for name in public if name.startswith(("api:", "fhir_"))}
    assert public == PUBLIC | of_programs | OWN_AUTHENTICATION | REDIRECT_TO_SIGN_IN


def test_signing_out_of_the_admin_without_a_session_does_not_loop(client):
    answer = client.post("/admin/logout/")
    assert answer.url == "/admin/"


@pytest.mark.parametrize("is_staff", [True, False])
def test_staff_and_others_without_the_permission_are_refused(is_staff):
    view = restrict_page(READ, permission="audit.view_entry")(forgotten)
    request = RequestFactory().get("/")
    request.user = make_user("ada", is_staff=is_staff)
    with pytest.raises(PermissionDenied):
        view(request)
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        view(request)


def test_other_methods_are_refused_with_the_permitted_methods():
    answer = restrict_page(CHANGE)(forgotten)(RequestFactory().get("/"))
    assert (answer.status_code, answer["Allow"]) == (405, "POST")


def test_responses_are_not_stored_unless_permitted():
    request = RequestFactory().get("/")
    assert "no-store" in restrict_page(READ)(forgotten)(request)["Cache-Control"]
    assert "Cache-Control" not in restrict_page(READ, may_be_stored=True)(forgotten)(request)
