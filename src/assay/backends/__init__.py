"""Models: every way to get answers to asks, behind the one port `core.ports.Backend`.

Knows core only. Nothing heavy is imported until a model is really used: `registry` holds names, and
torch, transformers, gguf and huggingface_hub are imported inside the functions that need them.
"""
