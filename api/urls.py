"""Defines the addresses of the HTTP interface. Each authenticates requests itself or is public."""

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, include, path
from django.views.decorators.csrf import csrf_exempt

from api.api import build
from api.health import healthz, readyz
from api.metrics import metrics
from api.uploads.resumable import DraftUploads, OpenPacketUploads

# These views are not part of django-ninja, which reads a whole body into memory and formats errors
# differently.
_packet_uploads = login_not_required(csrf_exempt(OpenPacketUploads.as_view()))
_draft_uploads = login_not_required(DraftUploads.as_view())
_operations, _app_name, _namespace = build().urls
for _pattern in _operations:
    if isinstance(_pattern, URLPattern):  # exempt from sign-in: each operation requires a token
        _pattern.callback = login_not_required(_pattern.callback)

urlpatterns = [
    path("api/v1/uploads", _packet_uploads, name="api_uploads"),
    path("api/v1/uploads/<uuid:upload_id>", _packet_uploads, name="api_upload"),
    path("uploads/", _draft_uploads, name="resumable_uploads"),
    path("uploads/<uuid:upload_id>/", _draft_uploads, name="resumable_upload"),
    path("api/v1/", (_operations, _app_name, _namespace)),
    path("fhir/", include("api.fhir.urls")),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
