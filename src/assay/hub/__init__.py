"""The Hugging Face hub: repositories by name, downloads into its cache, and what goes wrong with them.

The one package that talks to the hub. It knows repositories and files, not what a model or a dataset is made
of: `backends` and `sources` decide which files they need and word the errors. huggingface_hub is imported
inside the functions that need it.
"""
