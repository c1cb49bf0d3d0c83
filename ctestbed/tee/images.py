"""What a VM is launched from: a file, or the built-in demonstration image."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import cycle, islice
from typing import Final

from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.units import format_size

DEMO_NAME: Final = "builtin:demo"
DEMO_SIZE: Final = 64 * 2**10
MAX_IMAGE_BYTES: Final = 2**32
MAX_VCPUS: Final = 512
BLOCK_SIZE: Final = 16
"""Launch commands work on whole cipher blocks, so an image is padded with zeros to these."""

_DEMO_LINE: Final = b"ctestbed demonstration guest: this page is private, and plain text.\n"


@dataclass(frozen=True)
class Image:
    """An initial image: the name its user gave it, and its bytes."""

    name: str
    content: bytes

    @property
    def padded(self) -> bytes:
        """The bytes as they are loaded and measured."""
        rest = -len(self.content) % BLOCK_SIZE
        return self.content + bytes(rest) if rest else self.content

    @cached_property
    def sha256(self) -> str:
        """The digest of the bytes as its user gave them, in hex."""
        return sha256(self.content).hexdigest()


def demo_image(size: int = DEMO_SIZE) -> Image:
    """Return `size` bytes whose 4 KiB pages are all alike: readable text, then zeros.

    Equal pages show best what an address-dependent tweak does to them.
    """
    page = (_DEMO_LINE * 4).ljust(4096, b"\0")
    return Image(DEMO_NAME, bytes(islice(cycle(page), size)))


def load_image(name: str | None, memory: int) -> Image:
    """Read an image file (`-` for standard input), or make the built-in one for None.

    Raises:
        InputError: it is empty, unreadable, or larger than the VM's memory.
    """
    limit = min(memory, MAX_IMAGE_BYTES)
    content = (
        demo_image(min(DEMO_SIZE, memory)).content
        if name is None
        else read_input(name, limit=limit, what="image")
    )
    if not content:
        raise InputError(
            "CTB-M024",
            f"image {name!r} is empty",
            where=Where(file=name),
            hint="name a kernel or firmware image, or leave --image out for the built-in one",
        )
    return Image(name or DEMO_NAME, content)


def require_vcpus(count: int) -> int:
    """Return a number of virtual CPUs if a VM can have so many: 1 to 512."""
    if not 1 <= count <= MAX_VCPUS:
        raise InputError(
            "CTB-M084",
            f"a VM cannot have {count} virtual CPUs",
            hint=f"use 1 to {MAX_VCPUS}",
        )
    return count


def require_memory(size: int, page: int) -> int:
    """Return a VM's memory size if it is whole pages, one page to 1 TiB."""
    if not page <= size <= 2**40 or size % page:
        raise InputError(
            "CTB-M025",
            f"a VM cannot have {format_size(size)} of memory",
            hint="use a multiple of 4 KiB, up to 1 TiB, such as `64MiB`",
        )
    return size
