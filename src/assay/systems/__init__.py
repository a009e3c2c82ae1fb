"""The original programs around the dialects: each one's command line, output files and registry.

`assay as SYSTEM` runs them. Each package contains what one program adds to its dialect in `assay.dialects`:
`flags` is the table of its flags, which `flag_table` turns into a parser, the help and settings; `command` is
its command. This top layer may import `faces` and `app`.
"""
