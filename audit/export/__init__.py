"""Exports the audit trail: `package` makes a package, and `verify_trail.py` verifies it.

A package contains the trail, or a part of it, up to a signed checkpoint. The same checkpoint and
the same selection give the same bytes. docs/audit-format.md describes the files.
"""
