from django.urls import path

from ingestion.api.health import healthz, readyz
from ingestion.api.interface import build
from ingestion.api.metrics import metrics

urlpatterns = [
    path("api/v1/", build().urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
