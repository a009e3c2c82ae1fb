"""promptfoo's assertions: what each accepts (`assertions`), and the scorer (`assertion_scorer`)."""
