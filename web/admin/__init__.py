"""Registers documents and the work on them in the admin, where nobody can change them.

The rules of studies and sites about documents can be changed. Each change is recorded.
"""

from web.admin import (
    background_tasks,
    decisions,
    documents,
    queue,
    requirements,
    submissions,
)

__all__ = ["background_tasks", "decisions", "documents", "queue", "requirements", "submissions"]
