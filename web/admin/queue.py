"""django-q2's own pages, to be looked at: schedules are code, and rings are the dispatcher's.

Theirs let an administrator schedule any function, and no entry would tell.
"""

import django_q.admin  # noqa: F401 - it registers what is replaced here
from django.contrib import admin
from django_q.models import OrmQ, Schedule, Success

from web.admin.records import ReadOnlyAdmin

for _model in (Schedule, Success, OrmQ):
    if admin.site.is_registered(_model):  # OrmQ is not, where Redis carries the rings
        _page = type(admin.site.get_model_admin(_model))
        admin.site.unregister(_model)
        admin.site.register(_model, type(_page.__name__, (ReadOnlyAdmin, _page), {}))
