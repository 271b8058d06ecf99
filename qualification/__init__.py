"""Shows that an installation works: the demo, drills and the validation pack.

The product never imports this package.
"""
