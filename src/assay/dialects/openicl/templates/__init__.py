"""Templates of datasets and meta templates of models: from a row to a prompt. Independent of files."""
