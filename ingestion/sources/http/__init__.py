"""Downloads documents from portals over HTTP with httpx2, and trusts no response."""
