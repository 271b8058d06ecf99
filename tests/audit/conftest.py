from tests.audit.support import guards_down_for_flush

__all__ = ["guards_down_for_flush"]
