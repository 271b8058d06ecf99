"""Drills: what the software promises, tried in a sandbox that is thrown away afterwards.

scene           a sample portal, a submitted packet, worker hosts
replay          the same 500 documents come to the same, to the byte
backpressure    more than there is room for is sent away, and comes in later
rate_limit      two hosts together never ask a portal more often than it allows
shutdown        what a stopped host had in hand is finished or goes back, and nothing is done twice
reconstruction  states and files from the export alone, the database being gone
"""
