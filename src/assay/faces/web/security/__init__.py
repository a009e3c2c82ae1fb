"""Access control: hosts, origins, tokens and security headers. Knows nothing about runs."""
