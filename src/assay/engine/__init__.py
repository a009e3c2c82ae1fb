"""Plan, execute, journal, cache: one readable loop between tasks and a backend."""
