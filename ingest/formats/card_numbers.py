"""Numbers of payment cards: their length, their first digits and their check digit, as ISO/IEC 7812 has them."""

CARD_DIGITS = range(13, 20)
"""How many digits a number may have."""

_MASTERCARD = range(2221, 2721)
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")  # digit -> the digit sum of its double


def is_card(digits: bytes) -> bool:
    """
    Whether digits are a possible card number.

    Source: ISO/IEC 7812: the first digits of payment cards, and the check digit of Luhn.
    """
    if len(digits) not in CARD_DIGITS:
        return False
    if digits[0] not in b"3456" and not digits.startswith(b"81") and int(digits[:4]) not in _MASTERCARD:
        return False
    total = sum(digits[-1::-2]) + sum(digits[-2::-2].translate(_DOUBLED))
    return (total - len(digits) * ord("0")) % 10 == 0
