"""The addresses of the HTTP interface. Each authenticates requests itself or is public."""

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, path
from django.views.decorators.csrf import csrf_exempt

from api.api import build
from api.health import healthz, readyz
from api.metrics import metrics
from api.tus import UploadsOfPeople, UploadsOfPrograms


def _without_sign_in(patterns: list[URLPattern | URLResolver]) -> list[URLPattern | URLResolver]:
    """Exempt the views of django-ninja from sign-in: each operation names its token scope."""
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            pattern.callback = login_not_required(pattern.callback)
    return patterns


# Not part of django-ninja, which reads a whole body into memory, and has errors of another form.
_programs = login_not_required(csrf_exempt(UploadsOfPrograms.as_view()))
_people = login_not_required(UploadsOfPeople.as_view())
_operations, _app_name, _namespace = build().urls

urlpatterns = [
    path("api/v1/uploads", _programs, name="api_uploads"),
    path("api/v1/uploads/<uuid:upload_id>", _programs, name="api_upload"),
    path("uploads/", _people, name="resumable_uploads"),
    path("uploads/<uuid:upload_id>/", _people, name="resumable_upload"),
    path("api/v1/", (_without_sign_in(_operations), _app_name, _namespace)),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
