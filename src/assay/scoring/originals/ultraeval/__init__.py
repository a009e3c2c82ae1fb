"""Scoring of UltraEval's task configs: metrics of single rows, by config name."""
