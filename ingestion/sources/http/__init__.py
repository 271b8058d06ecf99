"""The HTTP source: downloads documents from portals with httpx2, and trusts no response."""
