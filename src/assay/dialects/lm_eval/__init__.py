"""Task files (YAML) of lm-evaluation-harness (lm-eval).

- `task_files`: one YAML file with its includes; `!function` tags stay references
- `task_index`: all tasks, groups and tags in some folders, kept in a cache file
- `selection`: from names to tasks with their overrides, and the groups that combine their scores
"""
