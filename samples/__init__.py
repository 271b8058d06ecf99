"""Makes sample packets and runs a sample portal, for the demo, the tests and the benchmarks.

All people, sites and documents are fictitious, and every page is marked SPECIMEN. The same seed and
the same `today` produce the same bytes in every process. The package does not import Django.
"""
