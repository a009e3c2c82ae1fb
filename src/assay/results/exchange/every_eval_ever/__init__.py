"""Records of every_eval_ever, by their published schema and without the package itself."""

from assay.results.exchange.every_eval_ever.reader import find_mismatch, read
from assay.results.exchange.every_eval_ever.schema import NAME
from assay.results.exchange.every_eval_ever.writer import write
from assay.results.exchange.formats import LogFormat

FORMAT = LogFormat(
    NAME, "every_eval_ever records: data/.../UUID.json and UUID_samples.jsonl", find_mismatch, read, write
)
