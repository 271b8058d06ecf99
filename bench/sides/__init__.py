"""Contains one side of a comparison in each module: ours, or what it is compared with.

Benchmarks start them.
"""
