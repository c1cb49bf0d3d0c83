"""SNP, SEV-ES and SEV digests against the vectors of virtee/sev-snp-measure.

What a firmware image says of itself is read here, in the test: the emulator launches images as
they are.
"""

import json
import struct
import uuid
from hashlib import sha256

import pytest

from ctestbed.tee.firmware.snp_digest import LaunchDigest, PageType
from ctestbed.tee.firmware.vmsa import BSP_RESET, vmsa_page
from tests.shared import shared_data

FOUR_GB = 1 << 32
KINDS = {1: PageType.ZERO, 2: PageType.SECRETS, 3: PageType.CPUID, 4: PageType.ZERO}
HASHES = 0x10


def guid(text: str) -> bytes:
    return uuid.UUID(text).bytes_le


def footer(image: bytes) -> dict[bytes, bytes]:
    """Read the table of GUIDs before the reset vector, from its end."""
    (size,) = struct.unpack("<H", image[-50:-48])
    table, found = image[-50 - (size - 18) : -50], {}
    while table:
        (length,) = struct.unpack("<H", table[-18:-16])
        found[table[-16:]] = table[-length:-18]
        table = table[:-length]
    return found


def sections(image: bytes, table: dict[bytes, bytes]) -> list[tuple[int, int, int]]:
    entry = table.get(guid("dc886566-984a-4798-a75e-5585a7bf67cc"))
    if entry is None:
        return []
    start = len(image) - struct.unpack("<I", entry[:4])[0]
    (count,) = struct.unpack("<I", image[start + 12 : start + 16])
    return [struct.unpack_from("<III", image, start + 16 + 12 * i) for i in range(count)]


def hash_table(append: str) -> bytes:
    """QEMU's table of kernel hashes, for an empty kernel and initrd."""
    empty = sha256(b"").digest()
    entries = [
        ("97d02dd8-bd20-4c94-aa78-e7714d36ab2a", sha256(append.encode() + b"\0").digest()),
        ("44baf731-3a2f-4bd7-9af1-41e29169781d", empty),
        ("4de79437-abd2-427f-b835-d5b172d2045b", empty),
    ]
    rows = b"".join(guid(name) + struct.pack("<H", 50) + digest for name, digest in entries)
    head = guid("9438d606-4f22-4cc9-b479-a793d411fd21") + struct.pack("<H", 18 + len(rows))
    return (head + rows).ljust(176, b"\0")


@pytest.mark.parametrize("number", range(13))
def test_digests_are_those_of_sev_snp_measure(number: int) -> None:
    vector = json.loads(shared_data("evidence/snp/launch_digest_vectors.json").read_text())[number]
    if vector["svsm_file"]:
        pytest.skip("its image is not at hand")
    image = shared_data("evidence/snp/" + vector["ovmf_file"]).read_bytes()
    table = footer(image)
    reset = struct.unpack("<I", table[guid("00f771de-1a7e-4fcb-890e-68c77e2fb44e")])[0]
    hashes = b"" if vector["kernel"] is None else hash_table(vector["append"])
    vmm = vector["vmm_type"].split(".")[1].lower()
    signature = vector["vcpu_sig"] or 0
    snp = vector["mode"] == "SevMode.SEV_SNP"
    pages = [
        vmsa_page(
            reset if cpu else BSP_RESET,
            features=vector["guest_features"] if snp else 0,
            signature=signature,
            vmm=vmm,
        )
        for cpu in range(vector["vcpus"])
    ]
    if not snp:
        measured = image + hashes
        if vector["mode"] == "SevMode.SEV_ES":
            measured += b"".join(pages)
        assert sha256(measured).hexdigest() == vector["digest"]
        return
    assert snp_digest(vector, image, table, hashes, vmm, pages) == vector["digest"]


def snp_digest(
    vector: dict[str, str],
    image: bytes,
    table: dict[bytes, bytes],
    hashes: bytes,
    vmm: str,
    pages: list[bytes],
) -> str:
    digest = LaunchDigest()
    if vector["snp_ovmf_hash_str"]:
        digest.value = bytes.fromhex(vector["snp_ovmf_hash_str"])
    else:
        digest.update(PageType.NORMAL, FOUR_GB - len(image), image)
    parts = sections(image, table)
    if vmm == "ec2":  # which adds the CPUID page last
        parts.sort(key=lambda part: KINDS.get(part[2]) is PageType.CPUID)
    for address, size, kind in parts:
        if vmm == "gce" and kind == 1:
            digest.update(PageType.UNMEASURED, address, bytes(size))
            continue
        if kind == HASHES:
            entry = table[guid("7255371f-3a3b-4b04-927b-1da6efa8d454")]
            (at,) = struct.unpack("<I", entry[:4])
            page = bytes(size)
            if hashes:
                page = bytes(at % 4096) + hashes
                page = page.ljust(size, b"\0")
                digest.update(PageType.NORMAL, address, page)
            else:
                digest.update(PageType.ZERO, address, page)
            continue
        digest.update(KINDS[kind], address, bytes(size))
    for page in pages:
        digest.update(PageType.VMSA, 0, page)
    return digest.value.hex()
