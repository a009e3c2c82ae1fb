"""UltraEval: its command lines (`command`) and its result files (`result_files`)."""
