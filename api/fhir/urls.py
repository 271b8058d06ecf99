"""Defines the addresses below /fhir. Each authenticates requests itself or is public."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from api.fhir.bulk_export import export_file, export_status, start_export
from api.fhir.conformance import metadata, smart_configuration
from api.fhir.token_endpoint import issue_token

urlpatterns = [
    path("metadata", login_not_required(metadata), name="fhir_metadata"),
    path(
        ".well-known/smart-configuration",
        login_not_required(smart_configuration),
        name="fhir_smart_configuration",
    ),
    path("auth/token", login_not_required(issue_token), name="fhir_token"),
    path("$export", login_not_required(start_export), name="fhir_export"),
    path("exports/<int:number>", login_not_required(export_status), name="fhir_export_status"),
    path(
        "exports/<int:number>/<str:name>",
        login_not_required(export_file),
        name="fhir_export_file",
    ),
]
