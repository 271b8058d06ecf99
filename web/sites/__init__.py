"""Serves the pages of sites: expected documents and their completeness."""
