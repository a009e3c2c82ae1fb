"""From a config file to plain data and checked entries. Knows files and keys, not prompts or scores."""
