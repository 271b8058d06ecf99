"""Produces the validation pack, with which users validate their installation.

`requirements` is the table of requirements. `marks` finds the tests of each requirement, and
`results` reads their outcomes. `installation` (IQ) checks what is installed, without changes.
`operation` (OQ) runs the software in a sandbox. `pack` writes all of it.
"""
