"""Providers with protocols of their own: `anthropic:MODEL` and `gemini:MODEL`.

- `backend`: the backends and timed clients, which are those of OpenAI-compatible servers
- `anthropic`, `gemini`: request bodies and replies
- `settings`: which model arguments a provider accepts
"""
