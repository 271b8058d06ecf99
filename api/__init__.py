"""Serves the HTTP interface `/api/v1` for programs, and the addresses for monitoring.

`api` builds the interface from its resources: `packets`, `batches`, `sites` and `documents`, and
the open packets of `uploads/`. `content` sends the bytes of documents. `schemas` describes what is
sent and returned. `uploads/` receives files, also those of the upload form for people, and `http/`
has what all resources share. `health` and `metrics` are for operations.

The views look up rows, delegate and respond. Rules about documents are in `ingestion`.
"""
