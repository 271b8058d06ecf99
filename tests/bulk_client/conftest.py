from tests.web.conftest import _folders

__all__ = ["_folders"]
