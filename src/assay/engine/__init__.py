"""The evaluation loop between tasks and a backend: plan, execute, journal, cache."""
