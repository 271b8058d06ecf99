"""The trail as a folder that proves itself: `package` makes it, `verify_trail.py` checks it.

A part of the trail, or all of it, up to a signed checkpoint. The same checkpoint and the same
choice give the same bytes. What is in the folder is written down in docs/audit-format.md.
"""
