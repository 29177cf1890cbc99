"""
Bytes as numbers, to look for one of them in an event.

`b"%" in data` of CPython 3.11 first tries to read a number, and makes an exception: a number is found in a fraction of
that time.
"""

NUL, LF, CR, PERCENT, COLON, LESS_THAN, BACKSLASH = b"\0\n\r%:<\\"
