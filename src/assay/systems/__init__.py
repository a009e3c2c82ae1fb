"""The original programs around the dialects: each one's command line, output files and registry.

`assay as SYSTEM` runs them. Each package holds what one program adds to its dialect in `assay.dialects`.
`command_line` holds what their command lines share. This is the top layer: it may import `faces` and `app`.
"""
