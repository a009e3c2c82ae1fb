"""The web face: the viewer and the team server. Knows Litestar; the rest of the house does not."""
