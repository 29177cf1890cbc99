"""Characters from Java's Unicode escapes."""


def joined(text: str) -> str:
    r"""
    Join surrogate pairs, such as from `\uD83D\uDE00`, into one character.

    A lone surrogate becomes the replacement character.

    Source: the documentation of java.lang.Character: Java's text is UTF-16.
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
