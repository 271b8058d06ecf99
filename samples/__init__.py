"""Sample packets and a sample portal: what the demo, the tests and the benchmarks are fed with.

Everybody and everything in them is fictitious, and every printed page says SPECIMEN. The same
seed and `today` give the same bytes, in every process. Plain Python: nothing of Django.
"""
