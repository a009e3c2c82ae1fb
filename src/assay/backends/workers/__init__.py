"""One model in many processes: a `Backend` that deals requests out to workers, here or on a cluster."""
