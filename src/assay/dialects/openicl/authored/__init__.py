"""The code that a config uses: dataset classes, evaluators and post-processors, run unchanged.

Their files are written for the packages `opencompass` or `ais_bench.benchmark`. Assay provides the contents
of those packages (`library`); the files are the person's own, or those of a checkout.
"""
