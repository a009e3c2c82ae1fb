"""Authoring languages. Each compiles what a person wrote into core.Task; none knows another."""
