"""Serves `/fhir/metadata` and `/fhir/.well-known/smart-configuration`, which are public."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from api.fhir.token_endpoint import GRANT_TYPE
from api.http.outcomes import MEDIA_TYPE
from ingestion.fhir.export import EVERY_TYPE
from sites.fhir_keys import ALGORITHMS

FHIR_VERSION = "4.0.1"
PUBLISHED = "2026-11-26"  # when this description changed last
_BULK_DATA = "http://hl7.org/fhir/uv/bulkdata"
_SMART_SERVICE = {
    "coding": [
        {
            "system": "http://terminology.hl7.org/CodeSystem/restful-security-service",
            "code": "SMART-on-FHIR",
        }
    ]
}


@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """Return the CapabilityStatement: system level export of four types, nothing else."""
    token_url = request.build_absolute_uri(reverse("fhir_token"))
    oauth_uris = {
        "url": "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris",
        "extension": [{"url": "token", "valueUri": token_url}],
    }
    statement: dict[str, Any] = {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": PUBLISHED,
        "kind": "instance",
        "instantiates": [f"{_BULK_DATA}/CapabilityStatement/bulk-data"],
        "software": {"name": "SiteLedger", "version": settings.SOFTWARE_VERSION},
        "implementation": {
            "description": "FHIR Bulk Data export of SiteLedger",
            "url": _make_base_url(request),
        },
        "fhirVersion": FHIR_VERSION,
        "format": ["application/fhir+json", "application/fhir+ndjson"],
        "rest": [
            {
                "mode": "server",
                "security": {"service": [_SMART_SERVICE], "extension": [oauth_uris]},
                "resource": [{"type": name} for name in EVERY_TYPE],
                "operation": [
                    {"name": "export", "definition": f"{_BULK_DATA}/OperationDefinition/export"}
                ],
            }
        ],
    }
    return JsonResponse(statement, content_type=MEDIA_TYPE)


@require_safe
def smart_configuration(request: HttpRequest) -> HttpResponse:
    """Return how clients authenticate (SMART App Launch 2.2, 2.1)."""
    return JsonResponse(
        {
            "token_endpoint": request.build_absolute_uri(reverse("fhir_token")),
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
            "grant_types_supported": [GRANT_TYPE],
            "scopes_supported": [
                f"system/{name}.{verb}" for name in ("*", *EVERY_TYPE) for verb in ("read", "rs")
            ],
            "capabilities": [
                "client-confidential-asymmetric",
                "permission-v1",
                "permission-v2",
            ],
        }
    )


def _make_base_url(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("fhir_metadata")).removesuffix("/metadata")
