"""The HTTP interface `/api/v1` for programs, and the pages that machines watch us by.

`interface` puts it together; `packets`, `batches`, `sites`, `documents` are its resources,
`originals` gives bytes out; `auth` and `reach` say who asks and what there is for them;
`problems`, `paging`, `ranges`, `waiting` are HTTP; `health` and `metrics` are for operations.
Views look up, delegate and answer, like those of `ingestion.web`.
"""
