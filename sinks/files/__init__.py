"""
Files below a root, which is a folder of this machine or a URL of another file system; without Spark, without a store.

Dumps and archives are in such roots. `root` is the contract, `local_root` a folder of this machine, `remote_root` the
file systems of fsspec; `opening` returns the root of a path or URL, and `register` a register in a root.
"""
