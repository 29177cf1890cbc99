"""Byte order marks, which some programs write before a text; they are no content (Unicode, 23.8)."""

UTF8 = b"\xef\xbb\xbf"
UTF16LE = b"\xff\xfe"
UTF16BE = b"\xfe\xff"
