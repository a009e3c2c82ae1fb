"""The REST API of the team server under /api/v1, with typed bodies and one shape of errors."""
