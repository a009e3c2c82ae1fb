"""Dataset classes as LLMBox's document describes them, compiled into tasks."""
