"""How fast a server is: what is sent to it, when, and what its answers' times say. Knows no protocol."""
