"""The HTTP interface `/api/v1` for programs, and the addresses for monitoring.

`api` builds the interface from its resources: `packets` and `open_packets`, `batches`, `sites` and
`documents`. `content` sends the bytes of documents. `tus` receives resumable uploads, also those of
the upload form for people. `auth` and `visibility` decide who may do what and which rows exist for
a token. `schemas`, `request_bodies`, `files` and `keys` describe and read what is sent and
returned. `problems`, `paging`, `query_times`, `ranges` and `waiting` implement HTTP standards.
`health` and `metrics` are for operations.

The views look up rows, delegate and respond. Rules about documents are in `ingestion`.
"""
