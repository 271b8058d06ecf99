"""The admin of documents and of the work on them, which nobody can change there.

The rules of studies and sites about documents can be changed. Each change is recorded.
"""

from web.admin import (
    decisions,
    documents,
    failures,
    queue,
    requirements,
    submissions,
)

__all__ = ["decisions", "documents", "failures", "queue", "requirements", "submissions"]
