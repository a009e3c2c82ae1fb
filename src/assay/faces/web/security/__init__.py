"""Who is answered: hosts, origins, tokens and the headers of every answer. Knows nothing of runs."""
