"""Config files: loading to plain data, and checking of entries. Independent of prompts and scores."""
