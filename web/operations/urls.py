"""Defines the URLs below /admin/ops/."""

from django.urls import path

from web.operations import dashboard, jobs, stuck

urlpatterns = [
    path("", dashboard.dashboard, name="ops"),
    path("jobs/", jobs.job_list, name="ops_jobs"),
    path("jobs/<int:pk>/", jobs.job_page, name="ops_job"),
    path("jobs/<int:pk>/cancel/", jobs.cancel_job, name="ops_job_cancel"),
    path("stuck/", stuck.stuck_items_page, name="ops_stuck"),
    path("stuck/retry/", stuck.retry_held, name="ops_retry"),
    path("stuck/now/", stuck.retry_now, name="ops_retry_now"),
    path("stuck/release/", stuck.release_leases, name="ops_release"),
]
