"""The viewer and the team server. Only this package uses Litestar."""
