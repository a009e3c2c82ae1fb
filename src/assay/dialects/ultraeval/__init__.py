"""UltraEval transform scripts and task configs, compiled into tasks."""
