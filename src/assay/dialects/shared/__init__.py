"""What dialects share: templates, few-shot draws, the reading of options and answers."""
