"""Exports resources of FHIR R4 in bulk: converts rows and entries, and writes them as NDJSON."""
