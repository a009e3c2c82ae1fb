"""OpenCompass: its command line (`flags`, `command`), and what AISBench, its derivative, shares with it.

`config_plan` finds out which models run on which datasets, `config_runs` runs them, `work_folder` manages the
folder of a command, and `result_files`, `prediction_rows`, `answered_rows` and `summary_table` write the
program's files.
"""
