"""Models: every backend that answers requests, behind the port `core.ports.Backend`.

Imports `core` only. Heavy packages load when a model is used: `registry` contains class names as strings,
and torch, transformers, gguf and huggingface_hub are imported inside the functions that need them.
"""
