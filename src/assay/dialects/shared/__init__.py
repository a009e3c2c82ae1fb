"""Code that several dialects share: templates, few-shot examples, options and answers, authors' modules."""
