"""UltraEval: its flags (`flags`), its command (`command`) and its result files (`result_files`)."""
