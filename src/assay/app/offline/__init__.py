"""`--offline`: allow only connections to named endpoints, and name the code that attempts others.

watch       blocks connections and programs; the only module that use cases import
endpoints   the named servers and their addresses
callers     the code that attempts a connection
seal        the kernel's filter, which also restricts native code and other programs (Linux)
"""
