import pytest


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Limit Tesseract to one thread, as in a parser process: more cost more than they gain."""
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")
