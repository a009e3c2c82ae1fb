"""Tables with an optional .meta.json: a csv or jsonl file becomes a task with no code."""
