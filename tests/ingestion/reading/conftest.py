import pytest


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """As in a child: tesseract's threads cost more than they gain."""
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")
