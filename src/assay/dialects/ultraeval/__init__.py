"""Transform scripts and task configs as UltraEval's document describes them, compiled into tasks."""
