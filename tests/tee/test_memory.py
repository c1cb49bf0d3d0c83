"""The memory controller against its own definition, and against what a host may see."""

import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4_xts import xts_encrypt
from ctestbed.tee.memory import (
    HOST_ASID,
    PAGE_SIZE,
    GuestMemory,
    KeySlots,
    MemoryController,
)

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
SIZE = 5 * PAGE_SIZE
BASE = 7 * PAGE_SIZE


def make_guest() -> GuestMemory:
    keys = KeySlots(2)
    keys.install(1, KEY)
    keys.install(2, OTHER_KEY)
    return GuestMemory(MemoryController(keys, 1 << 20), asid=1, base=BASE, size=SIZE)


spans = st.integers(0, SIZE).flatmap(
    lambda start: st.tuples(st.just(start), st.binary(max_size=min(SIZE - start, 2 * PAGE_SIZE)))
)


@given(st.lists(spans, max_size=6))
def test_guest_memory_behaves_as_an_array_of_bytes(writes: list[tuple[int, bytes]]) -> None:
    guest, model = make_guest(), bytearray(SIZE)
    guest.write(0, bytes(SIZE))
    for address, data in writes:
        guest.write(address, data)
        model[address : address + len(data)] = data
        assert guest.read(address, len(data)) == data
    assert guest.read(0, SIZE) == model


@given(st.lists(spans, max_size=6))
def test_shared_memory_behaves_as_an_array_of_bytes(writes: list[tuple[int, bytes]]) -> None:
    guest, model = make_guest(), bytearray(SIZE)
    for address, data in writes:
        guest.write_shared(address, data)
        model[address : address + len(data)] = data
    assert guest.read_shared(0, SIZE) == guest.controller.read_raw(BASE, SIZE) == model


@given(st.integers(0, SIZE), st.data())
def test_a_read_anywhere_agrees_with_a_read_of_everything(start: int, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, SIZE - start))
    guest = make_guest()
    everything = guest.read(0, SIZE)
    assert guest.read(start, length) == everything[start : start + length]


@pytest.mark.parametrize("frame", [0, 1, 4])
def test_a_page_is_sm4_xts_under_its_physical_address(frame: int) -> None:
    guest = make_guest()
    plain = bytes(reversed(range(256))) * 16
    guest.write(frame * PAGE_SIZE, plain)
    tweak = (BASE + frame * PAGE_SIZE).to_bytes(16, "little")
    expected = xts_encrypt(KEY, tweak, plain, standard="gb")
    assert guest.controller.read_raw(BASE + frame * PAGE_SIZE, PAGE_SIZE) == expected


def test_a_small_write_changes_only_the_16_byte_blocks_it_touches() -> None:
    guest = make_guest()
    guest.write(0, bytes(SIZE))
    before = guest.read_shared(0, SIZE)
    guest.write(PAGE_SIZE + 30, b"1234")
    after = guest.read_shared(0, SIZE)
    changed = {index // 16 for index in range(SIZE) if before[index] != after[index]}
    assert changed == {PAGE_SIZE // 16 + 1, PAGE_SIZE // 16 + 2}


def test_the_host_sees_ciphertext_that_hides_equal_pages_and_does_not_compress() -> None:
    guest = make_guest()
    plain = b"secret!!" * (SIZE // 8)
    guest.write(0, plain)
    host = guest.controller.read_raw(BASE, SIZE)
    blocks = [host[start : start + 16] for start in range(0, SIZE, 16)]
    assert len(set(blocks)) == len(blocks)
    assert len(zlib.compress(host, 9)) >= len(host)
    assert b"secret" not in host


def test_another_key_and_another_address_read_garbage() -> None:
    guest = make_guest()
    guest.write(0, bytes(PAGE_SIZE))
    controller = guest.controller
    assert zlib.crc32(controller.read_private(2, BASE, PAGE_SIZE)) != zlib.crc32(bytes(PAGE_SIZE))
    assert len(zlib.compress(controller.read_private(2, BASE, PAGE_SIZE))) >= PAGE_SIZE
    controller.write_raw(BASE + PAGE_SIZE, controller.read_raw(BASE, PAGE_SIZE))
    assert len(zlib.compress(guest.read(PAGE_SIZE, PAGE_SIZE))) >= PAGE_SIZE


def test_a_host_write_garbles_one_block_and_a_replay_brings_old_data_back() -> None:
    guest = make_guest()
    guest.write(0, b"old!" * 1024)
    old = guest.controller.read_raw(BASE, PAGE_SIZE)
    guest.write(0, b"new!" * 1024)
    guest.controller.write_raw(BASE + 32, b"\0")
    seen = guest.read(0, PAGE_SIZE)
    assert seen[32:48] != b"new!" * 4
    assert seen[:32] + seen[48:] == b"new!" * 1020
    guest.controller.write_raw(BASE, old)
    assert guest.read(0, PAGE_SIZE) == b"old!" * 1024


def test_nothing_runs_encrypted_without_a_key() -> None:
    keys = KeySlots(1)
    controller = MemoryController(keys)
    controller.write_private(HOST_ASID, 0, b"plain")
    assert controller.read_raw(0, 5) == b"plain"
    with pytest.raises(InputError, match="slot 1 holds no key"):
        controller.write_private(1, 0, b"x")
    keys.install(1, KEY)
    controller.write_private(1, 0, b"x")
    keys.erase(1)
    with pytest.raises(InputError, match="slot 1 holds no key"):
        controller.read_private(1, 0, 1)


@pytest.mark.parametrize(("asid", "key"), [(0, KEY), (2, KEY), (-1, KEY), (1, KEY[:-1])])
def test_a_key_goes_only_into_an_empty_slot_that_exists(asid: int, key: bytes) -> None:
    with pytest.raises(InputError):
        KeySlots(1).install(asid, key)
    keys = KeySlots(1)
    keys.install(1, KEY)
    with pytest.raises(InputError, match="taken"):
        keys.install(1, OTHER_KEY)


def test_keys_show_in_no_repr() -> None:
    keys = KeySlots(1)
    keys.install(1, b"\xab" * 32)
    shown = repr(keys) + repr(GuestMemory(MemoryController(keys), 1, 0, PAGE_SIZE))
    assert "abab" not in shown
    assert "\\xab" not in shown


@pytest.mark.parametrize(("address", "length"), [(-1, 1), (0, -1), (SIZE, 1), (0, SIZE + 1)])
def test_an_access_outside_is_refused(address: int, length: int) -> None:
    guest = make_guest()
    reads: list[Callable[[int, int], bytes]] = [guest.read, guest.read_shared]
    for read in reads:
        with pytest.raises(InputError, match="outside the guest"):
            read(address, length)
    with pytest.raises(InputError, match="outside"):
        guest.controller.read_raw((1 << 20) - 1, 2)


def test_untouched_memory_costs_nothing_and_reads_as_zeros_from_the_host() -> None:
    guest = make_guest()
    assert guest.controller.read_raw(BASE, SIZE) == bytes(SIZE)
    assert guest.controller.frames(BASE, SIZE) == {}
    guest.write(3 * PAGE_SIZE, b"x")
    assert list(guest.controller.frames(BASE, SIZE)) == [3]
