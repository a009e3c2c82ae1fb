"""LEAP: its command line (`command`) and its result files (`result_files`)."""
