"""Creates the WSGI application. docs/adr/0002-serve-over-wsgi.md explains why it is not ASGI."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
# The garbage collector examines what the server has loaded until here no more. To examine all of it
# takes a tenth of a second, which some requests would wait for.
gc.freeze()
