"""Settings of a table: their names on the command line and in Python, and in a meta file."""

TABLE_FLAGS = {
    "name": "abbr",
    "data_type": "data_type",
    "answer_is": "answer_is",
    "ppl_target": "ppl_target",
    "match": "match",
    "several_right": "several_right",
    "group_by": "category_column",
    "cluster": "cluster_column",
    "options": "options",
    "input_columns": "input_columns",
    "context_columns": "context_columns",
    "distractors": "distractors",
    "label_names": "label_names",
    "shuffle_options": "shuffle_options",
    "no_answers": "no_answers",
    "answer_column": "output_column",
    "messages_column": "messages_column",
    "template": "template",
    "human_prompt": "human_prompt",
    "bot_prompt": "bot_prompt",
    "sheet": "sheet",
    "header": "has_header",
    "header_row": "header_row",
    "columns": "columns",
    "separator": "separator",
    "quotes": "quotes",
    "encoding": "encoding",
    "decimal_comma": "decimal_comma",
}
"""Flag, or argument of `assay.run` -> key of the meta file."""
FLAGS_OF_KEYS = {key: flag for flag, key in TABLE_FLAGS.items()}
