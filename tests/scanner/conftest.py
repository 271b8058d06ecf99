from tests.web.conftest import _folders, mara, site

__all__ = ["_folders", "mara", "site"]
