"""Defines all URLs: the admin, the API and the pages."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    # These come before the admin, which would answer /admin/audit/ with a list of models.
    path("admin/audit/", include("web.trail.urls")),
    path("admin/review/", include("web.review.urls")),
    path("admin/ops/", include("web.operations.urls")),
    path("admin/", admin.site.urls),
    path("", include("api.urls")),
    path("", include("web.urls")),
]
