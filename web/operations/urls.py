"""Defines the URLs below /admin/ops/."""

from django.urls import path

from web.operations import dashboard, stuck

urlpatterns = [
    path("", dashboard.dashboard, name="ops"),
    path("stuck/", stuck.stuck_items_page, name="ops_stuck"),
    path("stuck/retry/", stuck.retry_held, name="ops_retry"),
    path("stuck/now/", stuck.retry_now, name="ops_retry_now"),
    path("stuck/release/", stuck.release_leases, name="ops_release"),
]
