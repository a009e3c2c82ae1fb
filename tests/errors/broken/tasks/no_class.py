from .base import Task, rf


def ask(doc, ctx):
    return rf.loglikelihood(ctx, doc["answer"])
