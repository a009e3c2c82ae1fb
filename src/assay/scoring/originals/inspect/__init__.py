"""inspect's scorers: how they read a reply (`values`), and the scorers by name (`scorers`)."""
