"""Scoring of UltraEval's task configs: metrics of single rows, by the names that configs use."""
