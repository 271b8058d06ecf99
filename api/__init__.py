"""The HTTP interface `/api/v1` for programs, and the pages that machines watch us by.

`api` puts it together; `packets` and `open_packets`, `batches`, `sites`, `documents` are its
resources, `content` gives bytes out; `tus` receives resumable uploads, also those of the upload
form; `auth` and `visibility` say who asks and what there is for them; `schemas`, `request_bodies`,
`files` and `keys` are what goes in and out; `problems`, `paging`, `query_times`, `ranges`,
`waiting` are HTTP; `health` and `metrics` are for operations.
Views look up, delegate and answer, like those of `web`.
"""
