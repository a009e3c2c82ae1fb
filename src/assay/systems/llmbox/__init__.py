"""LLMBox: its flags (`flags`) and its command (`command`)."""
