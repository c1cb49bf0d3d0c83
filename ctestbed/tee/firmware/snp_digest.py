"""The launch digest of SEV-SNP: a chain of SHA-384 over one PAGE_INFO per page (AMD 56860)."""

from enum import IntEnum
from hashlib import sha384
from struct import Struct
from typing import Final

from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.replies import PAGE_SIZE

DIGEST_SIZE: Final = 48
VMSA_ADDRESS: Final = 0xFFFFFFFFF000
_INFO_SIZE: Final = 0x70
_HEAD: Final = Struct("<HB5x")
_NOTHING: Final = bytes(DIGEST_SIZE)


class PageType(IntEnum):
    """Page types of SNP_LAUNCH_UPDATE."""

    NORMAL = 1
    VMSA = 2
    ZERO = 3
    UNMEASURED = 4
    SECRETS = 5
    CPUID = 6


class LaunchDigest:
    """The digest as the secure processor keeps it; `value` is 48 bytes, zeros at first."""

    def __init__(self) -> None:
        """Start."""
        self.value = _NOTHING

    def update(self, kind: PageType, address: int, data: BytesLike) -> None:
        """Take whole pages that serve `address` and the guest addresses after it."""
        value, view, new = self.value, memoryview(data), sha384
        measured = kind in {PageType.NORMAL, PageType.VMSA}
        head = _HEAD.pack(_INFO_SIZE, kind)
        for start in range(0, len(view), PAGE_SIZE):
            content = new(view[start : start + PAGE_SIZE]).digest() if measured else _NOTHING
            where = VMSA_ADDRESS if kind is PageType.VMSA else address + start
            value = new(value + content + head + where.to_bytes(8, "little")).digest()
        self.value = value
