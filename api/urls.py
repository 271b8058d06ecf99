from django.urls import path

from api.api import build
from api.health import healthz, readyz
from api.metrics import metrics

urlpatterns = [
    path("api/v1/", build().urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
