from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from api.api import build
from api.health import healthz, readyz
from api.metrics import metrics
from api.tus import UploadsOfPeople, UploadsOfPrograms

# Not among ninja's: they read a body in whole, and tus has errors and headers of its own.
_uploads = csrf_exempt(UploadsOfPrograms.as_view())

urlpatterns = [
    path("api/v1/uploads", _uploads, name="api_uploads"),
    path("api/v1/uploads/<uuid:upload_id>", _uploads, name="api_upload"),
    path("uploads/", UploadsOfPeople.as_view(), name="resumable_uploads"),
    path("uploads/<uuid:upload_id>/", UploadsOfPeople.as_view(), name="resumable_upload"),
    path("api/v1/", build().urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
