"""All addresses: the admin, the interface for programs, and the product's own pages."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("ingestion.api.urls")),
    path("", include("ingestion.web.urls")),
]
