"""Creates the WSGI application. docs/adr/0002-serve-over-wsgi.md explains why it is not ASGI."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
