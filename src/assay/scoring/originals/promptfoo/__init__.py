"""Assertions of promptfoo: what each accepts (`assertions`), and the scorer (`assertion_scorer`)."""
