"""lm-evaluation-harness (lm-eval): the filters between a reply and its score, and its metrics.

- `filters`: `filter_list` of a task file
- `metrics`: `metric_list` of a task file, and how values of all documents are aggregated
"""
