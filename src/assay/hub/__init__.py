"""The Hugging Face hub: repositories by name, downloads into its cache, and their errors.

The only package that talks to the hub. It knows repositories and files, not models or datasets: `backends`
and `sources` choose the files they need and write the error messages. huggingface_hub is imported inside the
functions that need it.

- `client`: huggingface_hub's own client and its settings
- `repository`: repositories at a revision, and the cache
- `downloads`: resumable downloads, reported to `core.download_listeners`
- `errors`: one exception with a kind
"""
