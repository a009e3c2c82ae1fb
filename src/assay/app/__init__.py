"""Settings, wiring and use cases: the only package that imports all others."""
