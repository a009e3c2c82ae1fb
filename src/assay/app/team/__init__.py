"""The team's server without its face: what is registered, what is asked for, and who works it off."""
