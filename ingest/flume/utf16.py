"""Text that escapes of Java spell."""


def joined(text: str) -> str:
    r"""
    The same with two halves of a character, as `\uD83D\uDE00` spells them, as the one they mean.

    A half alone becomes the replacement character.

    Source: the documentation of java.lang.Character: Java's text is UTF-16.
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
