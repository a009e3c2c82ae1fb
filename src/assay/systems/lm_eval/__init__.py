"""lm-evaluation-harness (lm-eval): its command line, its result files and its tables.

- `flags`, `used_flags`, `command`, `listing`: the commands `run`, `ls` and `validate`
- `config_file`, `pairs`, `names`: the values of flags
- `models`: --model and --model_args as models of Assay
- `task_configs`, `logged_run`, `local_tokenizer`: what the result files contain about a finished run
- `result_files`, `table`: writes these files, and prints the tables
"""
