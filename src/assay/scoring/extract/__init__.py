"""Finding the answer in what a model wrote, as a step of its own with a named rule."""
