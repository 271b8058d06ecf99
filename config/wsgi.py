"""Creates the WSGI application. docs/adr/0002-serve-over-wsgi.md explains why it is not ASGI."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
# Requests would wait while the garbage collector examines everything that the server has loaded
# until here, which stays in use.
gc.freeze()
