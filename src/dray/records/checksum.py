"""CRC-32C (Castagnoli), the checksum inside every record batch.

The `crc32c` package is used and not `google-crc32c`: both use the processor's instruction and run at about
20 GB/s on 16 KiB and 27 GB/s on 1 MiB, but google-crc32c refuses a memoryview, so that every batch sliced out
of a request would have to be copied first. `crc32c` also lets go of the interpreter lock from 32 KiB on.
"""

from crc32c import crc32c

__all__ = ["crc32c"]
