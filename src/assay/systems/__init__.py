"""The original programs around the dialects: each one's command line, output files and registry.

`assay as SYSTEM` runs them. Each package contains what one program adds to its dialect in `assay.dialects`.
`command_line` contains what their command lines share. This top layer may import `faces` and `app`.
"""
