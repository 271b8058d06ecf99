"""A backup, and what comes back from it (docs/adr/0028).

`DIR/archive/` has the archive's files under their hashes, for all backups in DIR together. Each
backup is a folder beside it, named for when it began: the database as it was then, the spool, the
anchors, `files.ndjson`, and last of all `manifest.json`. Without that it is none.
"""
