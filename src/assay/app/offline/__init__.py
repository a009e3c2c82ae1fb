"""`--offline`: no connection but to the named endpoint, and an error that names who tried another.

watch       what is refused, and what is done about it: the use cases see this file alone
endpoints   which servers are named, and their addresses
callers     whose code it is that tries
seal        Linux's own lock, which holds native code and other programs too
switches    the environment in which libraries try nothing to begin with
"""
