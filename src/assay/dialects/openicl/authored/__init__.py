"""The code that a config names: dataset classes, evaluators and post-processors, run as they are written.

Their files believe to be part of `opencompass` or `ais_bench.benchmark`. What those packages offer to them is
Assay's (`library`); the files themselves are the person's own, or those of a checkout.
"""
