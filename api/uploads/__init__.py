"""Receives files over HTTP, in each of the supported ways.

`resumable` has the addresses of resumable uploads, and `tus` their protocol; the upload form for
people uses both as well. `open_packets` has the packets that such files belong to, and
`deprecated_put` is the former way to fill them. `multipart` reads a packet with all its files in
one request.
"""
