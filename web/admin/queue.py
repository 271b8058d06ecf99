"""Shows the schedules and the queue of django-q2 in the admin, read only.

The original pages let an administrator schedule any function without an entry in the ledger.
Schedules are defined in code, and the dispatcher wakes the workers.
"""

import django_q.admin  # noqa: F401 - registers the admins that are replaced here
from django.contrib import admin
from django_q.models import OrmQ, Schedule

from web.admin.records import ReadOnlyAdmin

for _model in (Schedule, OrmQ):
    if admin.site.is_registered(_model):  # OrmQ is not registered with the Redis broker
        _page = type(admin.site.get_model_admin(_model))
        admin.site.unregister(_model)
        admin.site.register(_model, type(_page.__name__, (ReadOnlyAdmin, _page), {}))
