"""Finds secrets, addresses and numbers to redact in a text.

Regular expressions run on RE2, and checks of the matches read each character only a limited number
of times. So the time is linear in the length of any text, even of one that an attacker wrote.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from typing import TypeAlias

from groundwire.text.keywords import compile_pattern

#: A half-open range, in characters.
Range: TypeAlias = tuple[int, int]
Finder: TypeAlias = Callable[[str], Iterator[Range]]

_TOKEN = "[A-Za-z0-9_-]"

#: Matches private keys, and keys and tokens in the forms of well-known services. A private key
#: without an end mark is matched to the end of the text.
_SECRET = "|".join(
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        rf"\bgwa?_{_TOKEN}{{16,}}",  # keys of Groundwire
        rf"\bsk-{_TOKEN}{{16,}}",  # keys of OpenAI, Anthropic and others
        rf"\beyJ{_TOKEN}{{8,}}(?:\.{_TOKEN}*){{2,4}}",  # JSON Web Tokens
        r"\b(?:A3T[A-Z0-9]|ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|APKA|AROA|ASCA|ASIA)[A-Z0-9]{16}\b",
        r"(?i:\baws_?(?:secret_?access_?key|session_?token)[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9/+=]{16,}",
        r"\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
        rf"\bglpat-{_TOKEN}{{16,}}|\bxox[abeoprs]-[A-Za-z0-9-]{{10,}}|\bAIza{_TOKEN}{{30,}}",
        r"\b[prs]k_(?:live|test)_[A-Za-z0-9]{10,}|\bhf_[A-Za-z0-9]{20,}",
    )
)
#: Matches texts that may contain a secret: a name such as ``password:`` or ``Bearer`` with the text
#: after it, or the beginning of a URL up to the ``@`` after a password. See :func:`secrets`.
_NAMED_SECRET = "|".join(
    (
        r"(?i:\b(?:bearer|basic)[ \t]+)[A-Za-z0-9._~+/=-]{16,}",
        r"(?i:(?:\b|_)(?:api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|secret[_-]?key|"
        r"password|passwd)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{6,}",
        r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",  # a password in a URL
    )
)
_EMAIL = r"[\p{L}\p{N}\p{M}._%+-]+(?:@|%40)(?:[\p{L}\p{N}\p{M}-]+\.)+[\p{L}\p{N}\p{M}-]{2,}"
_PHONE = "|".join(
    (
        r"\+[1-9](?:[ ()./-]{0,3}\d){6,14}",
        r"\b00[1-9](?:[ ()./-]{0,3}\d){7,14}",
        r"(?:\b1[ .-]?)?(?:\([2-9]\d\d\) ?|\b[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}",  # North America
        r"\(?\b0\d{1,5}(?:\)[ /-]?|[ /-]{1,3})\d{2,}(?:[ -]\d{2,})*",  # without a country code
        r"\b0\d(?:\.\d\d){4}\b",  # without a country code, with dots, as in France
    )
)
_DATE = r"\d{1,4}[ /.-]\d{1,2}[ /.-]\d{1,4}"
_DIGITS = r"\d(?:[ -]?\d){11,}"
_IBAN_BEGINS = r"\b[A-Za-z]{2}\d\d[ -]?[A-Za-z0-9]"
_IPV4 = r"\b\d{1,3}(?:\.\d{1,3}){3}\b"
_IPV6 = r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?:\.\d{1,3}){0,3}"

_CARD_DIGITS = range(13, 20)
#: Codes of countries, each with the number of characters of its account numbers (IBAN).
_COUNTRIES = """
AD24 AE23 AL28 AO25 AT20 AZ28 BA20 BE16 BF28 BG22 BH22 BI27 BJ28 BR29 BY28 CF27 CG27 CH21
CI28 CM27 CR22 CV25 CY28 CZ24 DE22 DJ27 DK18 DO28 DZ26 EE20 EG29 ES24 FI18 FK18 FO18 FR27
GA27 GB22 GE22 GI23 GL18 GQ27 GR27 GT28 GW25 HN28 HR21 HU28 IE22 IL23 IQ23 IR26 IS26 IT27
JO30 KM27 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MG27 MK19 ML28
MN20 MR27 MT31 MU30 MZ25 NE28 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33
SA24 SC31 SD18 SE24 SI19 SK24 SM27 SN28 SO23 ST25 SV28 TD27 TG28 TL23 TN24 TR26 UA29 VA22
VG24 XK20 YE30
"""
_IBAN_CHARS = {each[:2]: int(each[2:]) for each in _COUNTRIES.split()}


def secrets(text: str) -> Iterator[Range]:
    """Find private keys, keys and tokens of known services, and passwords.

    Passwords are found in URLs. Passwords and other secrets are found after a word such as
    ``password`` or ``Bearer``. Ordinary text may follow this word, too. So a match counts only if
    it has a digit, or ends with "@" as in URLs.
    """
    yield from _found(_SECRET, text)
    for start, end in _found(_NAMED_SECRET, text):
        if text[start:end].endswith("@") or any(map(str.isdigit, text[start:end])):
            yield start, end


def emails(text: str) -> Iterator[Range]:
    """Find email addresses in any script, also with ``%40`` for ``@``."""
    return _found(_EMAIL, text)


def phones(text: str) -> Iterator[Range]:
    """Find phone numbers with a country code, North American ones, and those that begin with 0.

    Numbers without a country code are found only if they have separators. Dates are left out, and
    so are numbers that begin with 0 and have fewer than 9 digits.
    """
    for start, end in _found(_PHONE, text):
        number = text[start:end]
        stands_alone = not (_digit(text, start - 1) or _digit(text, end))
        n_digits = sum(map(str.isdigit, number))
        is_date = compile_pattern(_DATE, is_case_sensitive=True).fullmatch(number)
        is_short = number.lstrip("(")[0] == "0" and n_digits < 9
        if stands_alone and n_digits <= 17 and not (is_short or is_date):
            yield start, end


def cards(text: str) -> Iterator[Range]:
    """Find card numbers: 13 to 19 digits that do not begin with 0 and have a right check digit."""
    for start, end in _found(_DIGITS, text):
        groups, first = list(_groups(text, start, end)), 0
        while first < len(groups):
            last = _card_end(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
            first = 1 + (first if last is None else last)


def ibans(text: str) -> Iterator[Range]:
    """Find account numbers (IBAN) with right check digits and the length for their country."""
    last_end = 0
    for start, _ in _found(_IBAN_BEGINS, text):
        end = _iban_end(text, start)
        if start >= last_end and end is not None and _is_iban(text[start:end]):
            yield start, end
            last_end = end


def ips(text: str) -> Iterator[Range]:
    """Find IP addresses, version 4 and 6; a version number such as 1.2.3.4 is found as well."""
    for start, end in _found(_IPV4, text):
        in_longer = _dot_and_digit(text, start - 1, -1) or _dot_and_digit(text, end, 1)
        if not in_longer and all(int(part) < 256 for part in text[start:end].split(".")):
            yield start, end
    for start, end in _found(_IPV6, text):
        if start and (text[start - 1].isalnum() or text[start - 1] == ":"):
            continue
        while end > start and text[end - 1] in ":." and not text[start:end].endswith("::"):
            end -= 1
        if not text[end : end + 1].isalnum() and _is_ipv6(text[start:end]):
            yield start, end


def folded(text: str) -> str:
    """Replace digits, blanks and dashes of all scripts by ASCII ones; the length does not change.

    Letters and signs of full width, as in Japanese, are replaced, too. A lone surrogate, which RE2
    cannot read, becomes a replacement character.
    """
    return text if text.isascii() else text.translate(_Fold())


class _Fold:
    """A table for :meth:`str.translate` that computes its entries when they are needed."""

    @staticmethod
    @lru_cache(maxsize=4096)
    def __getitem__(code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            return str(unicodedata.decimal(character))
        if category == "Zs":
            return " "
        if category == "Pd" or character == "\N{MINUS SIGN}":
            return "-"
        if category == "Cs":
            return "\N{REPLACEMENT CHARACTER}"
        return chr(code - 0xFEE0) if 0xFF01 <= code <= 0xFF5E else character  # full width


def _found(pattern: str, text: str) -> Iterator[Range]:
    # The patterns must have no capturing groups: RE2 is faster without them.
    for match in compile_pattern(pattern, is_case_sensitive=True).finditer(text):
        yield match.span()


def _digit(text: str, at: int) -> bool:
    return at >= 0 and text[at : at + 1].isdigit()


def _dot_and_digit(text: str, at: int, step: int) -> bool:
    return at >= 0 and text[at : at + 1] == "." and _digit(text, at + step)


def _groups(text: str, start: int, end: int) -> Iterator[Range]:
    """Yield the runs of digits in a range that has only digits and single separators."""
    begin = start
    for at in range(start, end + 1):
        if at == end or not text[at].isdigit():
            yield begin, at
            begin = at + 1


def _card_end(text: str, groups: Sequence[Range], first: int) -> int | None:
    """Return the index of the last group of the longest card number that begins at group ``first``.

    Groups are runs of digits. ``None``: no card number begins with this group.
    """
    digits, found = "", None
    for last in range(first, min(first + _CARD_DIGITS[-1], len(groups))):
        start, end = groups[last]
        digits += text[start:end]
        if len(digits) in _CARD_DIGITS and digits[0] != "0" and _is_luhn(digits):
            found = last
    return found


def _is_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of Luhn's algorithm."""
    doubled = sum(2 * int(each) - 9 * (each > "4") for each in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + doubled) % 10 == 0


def _iban_end(text: str, start: int) -> int | None:
    """Return the end of the account number that may begin at ``start``; ``None`` if none does."""
    left, at = _IBAN_CHARS.get(text[start : start + 2].upper(), 0), start
    while left and at < len(text):
        if _is_latin(text[at]):
            left -= 1
        elif text[at] not in " -" or not _is_latin(text[at - 1]):
            return None
        at += 1
    return at if at > start and not left and not _is_latin(text[at : at + 1]) else None


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _is_iban(text: str) -> bool:
    account = text.replace(" ", "").replace("-", "")
    return int("".join(str(int(each, 36)) for each in account[4:] + account[:4])) % 97 == 1


def _is_ipv6(text: str) -> bool:
    # Without digits, a text with few parts such as "a::b" is more likely code.
    n_parts = sum(map(bool, text.split(":")))
    if n_parts < 3 and not any(map(str.isdigit, text)):
        return False
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True
