"""The WSGI application. Not ASGI: docs/adr/0002-serve-over-wsgi.md says why."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
