"""What an author's file imports besides base classes and metrics. The import table provides the old names."""
