"""Serves FHIR Bulk Data exports at `/fhir`, with SMART Backend Services (docs/fhir.md)."""
