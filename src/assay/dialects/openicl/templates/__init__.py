"""From a row to what a model is shown: templates of datasets, meta templates of models. Knows no files."""
