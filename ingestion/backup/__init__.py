"""Creates and restores backups (docs/adr/0028).

`DIR/archive/` contains the files of the archive under their SHA-256 digests, for all backups in DIR
together. Each backup is a folder beside it, whose name is the time at which it began. It contains
the database as it was at that time, the spool, the anchors, `files.ndjson`, and `manifest.json`,
which is written last. A folder without a manifest is not a backup.
"""
