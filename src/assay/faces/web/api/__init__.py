"""The team's server for programs: REST under /api/v1, typed bodies, one shape of errors."""
