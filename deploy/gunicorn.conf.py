"""How the web is served: `gunicorn --config deploy/gunicorn.conf.py --bind ADDRESS config.wsgi`.

It imports nothing of ours: new processes of gunicorn would get old code with it. How many processes
there are is gunicorn's own variable, WEB_CONCURRENCY.
"""

import os

# Threads: most requests wait for the database or for somebody's slow line.
worker_class = "gthread"
threads = int(os.environ.get("WEB_THREADS") or 8)  # as in config/settings.py
# After SIGTERM nobody new is let in, and what is being uploaded may take so long to arrive.
graceful_timeout = 60  # seconds; the units and compose.yaml wait for longer
max_requests, max_requests_jitter = 20_000, 2_000  # a slow leak of a library ends by itself
worker_tmp_dir = "/dev/shm"  # noqa: S108 - its heartbeat must not wait for a disk
control_socket_disable = True  # it would want a home to lie in
accesslog = None  # the proxy keeps one
