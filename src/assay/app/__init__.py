"""Settings, wiring and use cases: the one place that knows every room."""
