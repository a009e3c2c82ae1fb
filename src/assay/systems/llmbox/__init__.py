"""LLMBox: its command line (`command`) and the table of its flags (`flags`)."""
