"""What an author's file imports besides base classes and metrics; the import table gives the old names."""
