"""The team server without its web interface: registered models and datasets, queue and workers."""
