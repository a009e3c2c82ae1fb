"""Instructions that code can verify: the 25 kinds of IFEval (Zhou et al., 2023), strict and loose."""
