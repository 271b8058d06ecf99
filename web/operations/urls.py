"""Defines the URLs below /admin/ops/."""

from django.urls import path

from web.operations import dashboard, job_requests, jobs, stuck

urlpatterns = [
    path("", dashboard.dashboard, name="ops"),
    path("jobs/", jobs.job_list, name="ops_jobs"),
    path("jobs/new/<slug:kind>/", job_requests.new_job, name="ops_job_new"),
    path("jobs/<int:pk>/", jobs.job_page, name="ops_job"),
    path("jobs/<int:pk>/file/", jobs.download_file, name="ops_job_file"),
    path("jobs/<int:pk>/cancel/", jobs.cancel_job, name="ops_job_cancel"),
    path("stuck/", stuck.stuck_items_page, name="ops_stuck"),
    path("stuck/retry/", stuck.retry_held, name="ops_retry"),
    path("stuck/now/", stuck.retry_now, name="ops_retry_now"),
    path("stuck/release/", stuck.release_leases, name="ops_release"),
]
