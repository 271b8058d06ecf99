"""Documents in the admin: to be filtered, searched and read. Nothing here changes a record.

What studies and sites lay down about documents is changed here, and each change is on record.
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
