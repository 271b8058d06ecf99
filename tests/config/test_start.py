"""Tests that commands start without the libraries that few of them need."""

import subprocess
import sys

LARGE = {"asn1crypto", "boto3", "botocore", "cv2", "numpy", "PIL", "pypdfium2", "reportlab"}
PROGRAM = """
import sys
import django
from django.urls import get_resolver
django.setup()
get_resolver().url_patterns
print(*sys.modules)
"""


def test_a_command_starts_without_the_libraries_that_read_files_and_reach_buckets():
    started = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    assert not LARGE & set(started.stdout.split())
