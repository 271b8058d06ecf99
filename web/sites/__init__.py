"""Pages of sites: expected documents and their completeness."""
