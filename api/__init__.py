"""The HTTP interface `/api/v1` for programs, and the pages that machines watch us by.

`interface` puts it together; `packets` and `gathered`, `batches`, `sites`, `documents` are its
resources, `content` gives bytes out; `auth` and `reach` say who asks and what there is for them;
`schemas`, `bodies`, `files` and `keys` are what goes in and out; `problems`, `paging`, `moments`,
`ranges`, `waiting` are HTTP; `health` and `metrics` are for operations.
Views look up, delegate and answer, like those of `web`.
"""
