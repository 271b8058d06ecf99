"""Runs drills: commands that show one promise of the product each, in a temporary sandbox.

setup           a sample portal, a submitted packet, worker hosts
replay          the same 500 documents have the same results, to the byte
redelivery      500 documents that are delivered three times are filed once each
memory          the queue blocks its producer, and memory does not grow with large packets
backpressure    submissions beyond the limit are refused, and accepted later
rate_limit      two hosts together never exceed the rate limit of a portal
shutdown        a stopped host finishes or returns its work, and no document is filed twice
reconstruction  states and files can be reconstructed from an export alone, without the database
"""
