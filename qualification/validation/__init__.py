"""Raw material for the user's own validation: requirements with their tests, scripts, results.

`requirements` is the table; `marks` and `results` say which tests prove a row and how they ended;
`installation` (IQ) looks at what is installed here, `operation` (OQ) works on a copy of its own;
`pack` writes it all down.
"""
