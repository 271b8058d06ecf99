"""Below /admin/ops/."""

from django.urls import path

from web.operations import dashboard, stuck

urlpatterns = [
    path("", dashboard.dashboard, name="ops"),
    path("stuck/", stuck.stuck, name="ops_stuck"),
    path("stuck/retry/", stuck.retry, name="ops_retry"),
    path("stuck/now/", stuck.at_once, name="ops_at_once"),
    path("stuck/release/", stuck.release, name="ops_release"),
]
