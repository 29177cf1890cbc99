"""
Byte order marks, which some programs write before a text; they are no content (Unicode 15, 23.8).

A source removes the mark of a file. A decorator that parses a text removes one mark before it.
"""

UTF8 = b"\xef\xbb\xbf"
UTF16LE = b"\xff\xfe"
UTF16BE = b"\xfe\xff"
