"""CCA's and virtCCA's measurement: the vendor's vectors, and the descriptor read independently."""

import json
import struct
from hashlib import sha256

from ctestbed.tee.firmware.rim import Parameters, Rim, rec_parameters, tec_parameters
from tests.shared import shared_data

MIB = 1 << 20
LOADER = 0x40000000
BLOCK = 2 * MIB


def expected(boot: str) -> str:
    value = json.loads(shared_data("evidence/virtcca/rim_vectors.json").read_text())
    return str(next(row["rim"] for row in value["vectors"] if row["boot"] == boot))


def pattern(size: int, step: int, start: int) -> bytes:
    return bytes((step * i + start) & 255 for i in range(size))


DTB = pattern(9000, 3, 1)


def padded(data: bytes, block: int = BLOCK) -> bytes:
    return data + bytes(-(len(data) + 1) % block + 1)


def test_a_kernel_boot_measures_as_the_vendors_program_does() -> None:
    kernel = bytearray(pattern(65536, 7, 3))
    kernel[56:60] = b"ARM\x64"
    kernel[8:24] = struct.pack("<QQ", 0, 65536)
    dtb_at = LOADER + 128 * MIB
    words = [0x580000C0, 0xAA1F03E1, 0xAA1F03E2, 0xAA1F03E3, 0x58000084, 0xD61F0080]
    stub = struct.pack("<6IQQ", *words, dtb_at, LOADER + BLOCK)
    rim = Rim(Parameters(flags=6, ipa_bits=40, sve_vl=1, pmu_counters=1))
    rim.data(LOADER, stub.ljust(BLOCK, b"\0"))
    rim.data(LOADER + BLOCK, bytes(kernel))
    rim.data(dtb_at, padded(DTB))
    rim.cpu(tec_parameters(LOADER, runnable=True))
    assert rim.value.hex() == expected("kernel+dtb")


def test_a_firmware_boot_measures_as_the_vendors_program_does() -> None:
    rim = Rim(Parameters(flags=4, ipa_bits=40, pmu_counters=1))
    rim.data(0, pattern(300000, 11, 9).ljust(128 * MIB, b"\0"))
    rim.data(LOADER, padded(DTB))
    rim.cpu(tec_parameters(0, runnable=True))
    assert rim.value.hex() == expected("firmware+dtb")


def test_descriptors_lie_as_the_rmm_lays_them_out() -> None:
    rim = Rim(Parameters(ipa_bits=48))
    params = bytearray(4096)
    params[8] = 48
    start = sha256(params).digest()
    assert rim.value == start
    rim.data(0x5000, b"a" * 4096)
    row = bytearray(256)
    row[8:16] = struct.pack("<Q", 256)
    row[0x10:0x30] = start
    row[0x50:0x60] = struct.pack("<QQ", 0x5000, 1)
    row[0x60:0x80] = sha256(b"a" * 4096).digest()
    assert rim.value == sha256(row).digest()
    before = rim.value
    rim.ripas(0, 0x10000)
    row = bytearray(256)
    row[0] = 2
    row[8:16] = struct.pack("<Q", 256)
    row[0x10:0x30] = before
    row[0x50:0x60] = struct.pack("<QQ", 0, 0x10000)
    assert rim.value == sha256(row).digest()
    before = rim.value
    page = rec_parameters(0x1234, [7], runnable=True)
    assert (page[0], page[0x200:0x202], page[0x300]) == (1, b"\x34\x12", 7)
    rim.cpu(page)
    row = bytearray(256)
    row[0] = 1
    row[8:16] = struct.pack("<Q", 256)
    row[0x10:0x30] = before
    row[0x50:0x70] = sha256(page).digest()
    assert rim.value == sha256(row).digest()
