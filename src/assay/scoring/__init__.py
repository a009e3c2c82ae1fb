"""From responses to scores and metrics: extraction, scorers, aggregation, statistics."""
