"""Provides what all resources share: access, request bodies, errors, paging and headers.

`auth` authenticates requests by their token, and `visibility` limits each token to its rows.
`request_bodies` reads what is sent, and `keys` reads the header `Idempotency-Key`. `problems` and
`middleware` form the errors. `paging`, `query_times`, `ranges` and `waiting` implement the other
standards.
"""
