"""OpenCompass: its command line (`command`), and what it shares with AISBench, which grew out of it.

`config_plan` reads which models run on which datasets, `config_runs` runs them, `work_folder` lays out the
folder of a command, and `result_files`, `prediction_rows`, `answered_rows` and `summary_table` write the
program's files.
"""
