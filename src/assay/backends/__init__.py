"""Models. Each heavy import stays inside its own file and inside the function that needs it."""
