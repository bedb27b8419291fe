"""CRC-32C bit by bit, from its definition: the oracle for the fast one."""


def crc32c_by_the_book(data: bytes) -> int:
    """Polynomial 0x1EDC6F41, bits reflected, all ones in and out (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
