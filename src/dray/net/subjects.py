"""Subject of a certificate, written as Java's X500Principal.getName() does. Pure.

Kafka's principals are these names, so the same ACLs apply to the same certificates:

- RFC 2253: the last part first; the keywords CN, C, L, ST, STREET, O, OU, DC and UID;
- any other attribute, such as an e-mail address, by its OID, its value as `#` and the DER in hex;
- the attributes of one part joined by `+`, in the order of the certificate;
- every string is read as UTF-8, whatever its type, as Java reads it.

The bytes come from a certificate that OpenSSL has verified. Only the outermost structure is decoded here,
because libraries for certificates return neither the raw values nor their order.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_STRINGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E})
"""Tags of UTF8String, PrintableString, T61String, IA5String, GeneralString, UniversalString, BMPString."""
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_BLANK: Final = " \r"
_VERSION: Final = 0xA0
_LONG_FORM: Final = 0x80
_BEFORE_SUBJECT: Final = 4
"""Serial number, signature algorithm, issuer, validity."""


class _Element(NamedTuple):
    """An element of DER: its tag, its contents, and all its bytes."""

    tag: int
    contents: bytes
    whole: bytes


def subject_name(certificate: bytes) -> str:
    """Return the name of a certificate in DER."""
    (signed, *_) = _elements(next(_elements(certificate)).contents)
    fields = [one for one in _elements(signed.contents) if one.tag != _VERSION]
    parts = [_part(one) for one in _elements(fields[_BEFORE_SUBJECT].contents)]
    return ",".join(reversed(parts))


def _part(part: _Element) -> str:
    return "+".join(_attribute(one) for one in _elements(part.contents))


def _attribute(attribute: _Element) -> str:
    kind, value = _elements(attribute.contents)
    oid = _oid(kind.contents)
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or oid}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.contents.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    """Escape what has a meaning in names, and blanks at either end."""
    shown = "".join(f"\\{one}" if one in _ESCAPED else one for one in text).replace("\0", "\\00")
    start = len(shown) - len(shown.lstrip(_BLANK))
    end = len(shown.rstrip(_BLANK))
    blanks_before = "".join(f"\\{one}" for one in shown[:start])
    blanks_after = "".join(f"\\{one}" for one in shown[max(end, start) :])
    return f"{blanks_before}{shown[start:end]}{blanks_after}"


def _elements(data: bytes) -> Iterator[_Element]:
    """Yield the elements that follow each other."""
    start = 0
    while start < len(data):
        tag, size, body = data[start], data[start + 1], start + 2
        if size & _LONG_FORM:
            body += size & ~_LONG_FORM
            size = int.from_bytes(data[start + 2 : body], "big")
        end = body + size
        yield _Element(tag, data[body:end], data[start:end])
        start = end


def _oid(data: bytes) -> str:
    """Return an object identifier with dots."""
    numbers: list[int] = []
    number = 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
