"""The laws of any memory controller, whatever parts it is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4_xts import xts_encrypt
from ctestbed.tee.controller.replies import (
    BUS,
    HOST,
    PAGE_SIZE,
    UNTRUSTED_DEVICE,
    FaultKind,
    MemoryFaultError,
    Path,
    ReplyKind,
    Requester,
)
from tests.tee.controller.models import BASE, FREE, MODELS, SIZE, Model, build, make_guest

SECRET = b"sixteen  secrets"
PLAIN = SECRET * (PAGE_SIZE // 16)
spans = st.integers(0, SIZE).flatmap(
    lambda start: st.tuples(st.just(start), st.binary(max_size=min(SIZE - start, 2 * PAGE_SIZE)))
)
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
checked = [model for model in MODELS if model.integrity != "none"]
encrypting = [model for model in MODELS if model.engine != "none"]


@every_model
@settings(max_examples=12)
@given(writes=st.lists(spans, max_size=6), flushes=st.sets(st.integers(0, 5)))
def test_a_guest_reads_back_what_it_wrote(
    model: Model, writes: list[tuple[int, bytes]], flushes: set[int]
) -> None:
    guest, other = make_guest(controller := build(model)), make_guest(controller, 2)
    expected = bytearray(SIZE)
    for number, (address, data) in enumerate(writes):
        guest.write(address, data)
        expected[address : address + len(data)] = data
        assert guest.read(address, len(data)) == data
        if number in flushes:
            controller.flush()
    assert guest.read(0, SIZE) == expected
    controller.flush()
    assert guest.read(0, SIZE) == expected
    assert other.read(0, SIZE) == bytes(SIZE)


@every_model
@settings(max_examples=10)
@given(start=st.integers(0, SIZE), data=st.data())
def test_a_read_anywhere_agrees_with_a_read_of_everything(
    model: Model, start: int, data: st.DataObject
) -> None:
    guest = make_guest(build(model))
    guest.write(PAGE_SIZE - 100, PLAIN)
    length = data.draw(st.integers(0, SIZE - start))
    assert guest.read(start, length) == guest.read(0, SIZE)[start : start + length]


def everyone(slot: int = 1) -> list[Requester]:
    """All who are not the guest: they know its frames, and what it calls them."""
    return [
        HOST,
        UNTRUSTED_DEVICE,
        Requester(Path.GUEST_SHARED, 0, 0),
        Requester(Path.OTHER_GUEST, 3 - slot, 0),
        Requester(Path.DMA_ACCEPTED, 3 - slot, 0),
        BUS,
    ]


@pytest.mark.parametrize(
    "model", [m for m in MODELS if m.engine != "none" or m.ownership != "none"], ids=str
)
def test_no_path_gives_anybody_else_plaintext(model: Model) -> None:
    controller = build(model)
    guest, _ = make_guest(controller), make_guest(controller, 2)
    guest.write(0, PLAIN)
    for who in everyone():
        if who is BUS and model.engine == "none":
            continue  # TrustZone partitions and the RMP alone stop no probe
        shared = who.path is Path.GUEST_SHARED or who in {HOST, UNTRUSTED_DEVICE}
        if shared and model == Model("none", "RMP"):
            continue  # the RMP stops writes, not reads: encryption is what hides
        reply = controller.read(who, BASE[1], PAGE_SIZE)
        assert SECRET not in reply.data
        assert reply.fault is None or not reply.data


@every_model
@settings(max_examples=15)
@given(who=st.sampled_from(everyone()[:-1]), at=st.integers(0, SIZE - 64), data=st.data())
def test_a_prevented_write_leaves_memory_and_a_done_one_is_seen(
    model: Model, who: Requester, at: int, data: st.DataObject
) -> None:
    controller = build(model)
    guest, _ = make_guest(controller), make_guest(controller, 2)
    guest.write(0, PLAIN * 5)
    controller.flush()
    garbage = data.draw(st.binary(min_size=1, max_size=64))
    before = controller.dram.capture(BASE[1], SIZE)
    reply = controller.write(who.moved(at), BASE[1] + at, garbage)
    if reply.fault is not None:
        after = controller.dram.capture(BASE[1], SIZE)
        assert after.data == before.data
        for name in ("mac", "owner", "counter"):
            assert np.array_equal(getattr(after, name), getattr(before, name))
        assert guest.read(0, SIZE) == PLAIN * 5
    elif who.path not in {Path.OTHER_GUEST, Path.DMA_ACCEPTED}:
        seen = controller.dram.read(BASE[1] + at, len(garbage))
        assert seen == garbage


@pytest.mark.parametrize("model", checked, ids=str)
@settings(max_examples=15)
@given(at=st.integers(0, SIZE - 1), length=st.integers(1, 300), data=st.data())
def test_a_detected_change_faults_before_any_data_is_used(
    model: Model, at: int, length: int, data: st.DataObject
) -> None:
    controller = build(model)
    guest = make_guest(controller)
    guest.write(0, PLAIN * 5)
    controller.flush()
    length = min(length, SIZE - at)
    bits = data.draw(st.integers(1, 255))
    raw = bytes(byte ^ bits for byte in controller.dram.read(BASE[1] + at, length))
    reply = controller.write(HOST, BASE[1] + at, raw)
    if reply.fault is not None:
        assert guest.read(0, SIZE) == PLAIN * 5
        return
    for start, count in ((0, SIZE), (at, 1), (at + length - 1, 1)):
        seen = guest.try_read(start, count)
        assert seen.fault is not None
        assert seen.fault.kind is FaultKind.MACHINE_CHECK
        assert not seen.data
    written = guest.try_write(at, b"x")
    assert written.fault is not None  # a write in part must not make the line good again
    low, high = at - at % 64, at + length + -(at + length) % 64
    assert guest.read(0, low) == (PLAIN * 5)[:low]
    assert guest.read(high, SIZE - high) == (PLAIN * 5)[high:]
    guest.write(low, bytes(high - low))
    assert guest.read(low, high - low) == bytes(high - low)


@pytest.mark.parametrize("model", encrypting, ids=str)
@settings(max_examples=10)
@given(page=st.integers(0, 4), first=st.binary(min_size=64, max_size=64))
def test_equal_plaintext_gives_equal_ciphertext_exactly_without_freshness(
    model: Model, page: int, first: bytes
) -> None:
    controller = build(model)
    guest, at = make_guest(controller), page * PAGE_SIZE
    seen = []
    for value in (first, bytes(64), first):
        guest.write(at, value)
        controller.flush()
        seen.append(controller.dram.read(BASE[1] + at, 64))
    if model.engine.startswith("fresh"):
        assert seen[0] != seen[2]
        blocks = {line[i : i + 16] for line in (seen[0], seen[2]) for i in (0, 16, 32, 48)}
        assert len(blocks) == 8
    else:
        assert seen[0] == seen[2]
    guest.write((at + PAGE_SIZE) % SIZE, first)
    controller.flush()
    assert controller.dram.read(BASE[1] + (at + PAGE_SIZE) % SIZE, 64) != seen[2]


@pytest.mark.parametrize("model", encrypting, ids=str)
def test_a_small_write_changes_no_line_but_its_own(model: Model) -> None:
    controller = build(model)
    guest = make_guest(controller)
    before = controller.dram.read(BASE[1], SIZE)
    guest.write(PAGE_SIZE + 30, b"1234")
    controller.flush()
    after = controller.dram.read(BASE[1], SIZE)
    step = 64 if model.engine.startswith("fresh") else 16
    changed = {i // step for i in range(SIZE) if before[i] != after[i]}
    assert changed <= {(PAGE_SIZE + 30) // step, (PAGE_SIZE + 33) // step}
    assert changed


@pytest.mark.parametrize("page", [0, 1, 4])
def test_a_page_is_xts_under_its_physical_address(page: int) -> None:
    controller = build(Model("SM4-XTS"))
    plain = bytes(reversed(range(256))) * 16
    make_guest(controller).write(page * PAGE_SIZE, plain)
    key = bytes((31 + i) % 256 for i in range(32))
    tweak = (BASE[1] + page * PAGE_SIZE).to_bytes(16, "little")
    expected = xts_encrypt(key, tweak, plain, standard="gb")
    assert controller.read(BUS, BASE[1] + page * PAGE_SIZE, PAGE_SIZE).data == expected


def test_the_tweak_constants_of_xe_solve_and_transplant_but_those_of_xex_need_both_sides() -> None:
    controller = build(Model("AES-XE"))
    guest = make_guest(controller)
    other = 2 * PAGE_SIZE
    seen = []
    for address in (0, other):
        guest.write(address, PLAIN)
        seen.append(controller.dram.read(BASE[1] + address, 16))
    assert seen[0] != seen[1]
    controller.write(HOST, BASE[1] + other, seen[0])
    moved = guest.read(other, 16)
    difference = bytes(a ^ b for a, b in zip(moved, SECRET, strict=True))
    guest.write(0, b"another  secret!")
    controller.write(HOST, BASE[1] + other, controller.dram.read(BASE[1], 16))
    again = bytes(a ^ b for a, b in zip(guest.read(other, 16), difference, strict=True))
    assert again == b"another  secret!"


def test_kinds_say_what_an_answer_is() -> None:
    controller = build(Model("AES-XTS", "PAMT", "mac+owner"))
    guest = make_guest(controller)
    guest.write(0, PLAIN)
    assert controller.read(HOST, BASE[1], 64).kind is ReplyKind.PATTERN
    assert controller.read(HOST, BASE[1], 64).data == bytes(64)
    assert controller.read(BUS, BASE[1], 64).kind is ReplyKind.CIPHERTEXT
    assert controller.write(HOST, BASE[1], b"x").kind is ReplyKind.POISON
    with pytest.raises(MemoryFaultError, match="#MC") as caught:
        guest.read(0, 1)
    assert caught.value.code == "CTB-M003"
    assert controller.read(HOST, FREE, 64).kind is ReplyKind.DATA
    mac_only = build(Model("AES-XTS", "none", "mac"))
    make_guest(mac_only)
    assert mac_only.read(HOST, BASE[1], 64).kind is ReplyKind.POISON
    plain = build(Model("none"))
    make_guest(plain).write(0, PLAIN)
    assert plain.read(HOST, BASE[1], 16).data == SECRET


@pytest.mark.parametrize(
    ("integrity", "caught"),
    [("none", False), ("mac", False), ("owner", False), ("mac+owner", False), ("tree", True)],
)
def test_only_a_tree_stops_a_replay_below_the_controller(integrity: str, caught: bool) -> None:
    controller = build(Model("AES-XTS", "none", integrity))
    guest = make_guest(controller)
    guest.write(0, b"old!" * 1024)
    old = controller.dram.capture(BASE[1], PAGE_SIZE)
    guest.write(0, b"new!" * 1024)
    controller.dram.restore(BASE[1], old)
    seen = guest.try_read(0, PAGE_SIZE)
    assert (seen.fault is not None) is caught
    assert caught or seen.data == b"old!" * 1024


@pytest.mark.parametrize(
    ("integrity", "caught"), [("none", False), ("mac", True), ("owner", False)]
)
def test_a_mac_stops_a_transplant_below_the_controller(integrity: str, caught: bool) -> None:
    controller = build(Model("AES-XTS", "none", integrity))
    guest = make_guest(controller)
    guest.write(0, PLAIN)
    controller.dram.restore(BASE[1] + PAGE_SIZE, controller.dram.capture(BASE[1], PAGE_SIZE))
    seen = guest.try_read(PAGE_SIZE, PAGE_SIZE)
    assert (seen.fault is not None) is caught


@pytest.mark.parametrize("engine", ["AES-XEX", "none"])
def test_masked_lines_make_one_cell_answer_two_addresses_with_all_that_lies_beside(
    engine: str,
) -> None:
    controller = build(Model(engine, "none", "mac+owner"))
    dram, line = controller.dram, 1 << 16
    guest = make_guest(controller)
    guest.write(0, PLAIN)
    dram.mask_lines(line)
    assert dram.read(BASE[1] ^ line, 64) == dram.read(BASE[1], 64)
    old = dram.capture(BASE[1], 64)
    controller.write(HOST, BASE[1] ^ line, bytes(64))
    assert guest.try_read(0, 64).fault is not None
    dram.restore(BASE[1] ^ line, old)
    assert guest.read(0, 64) == PLAIN[:64]
    dram.mask_lines(0)
    assert dram.read(BASE[1] ^ line, 64) == bytes(64)
    for mask in (1, -4096, 1 << 20, 4095):
        with pytest.raises(InputError) as caught:
            dram.mask_lines(mask)
        assert caught.value.code == "CTB-M004"


def test_invd_drops_dirty_lines_and_flush_or_a_fixed_processor_writes_them() -> None:
    for fixed in (False, True):
        controller = build(Model(cache=32))
        controller.parts.invd_writes_back = fixed
        guest = make_guest(controller)
        guest.write(0, b"old!" * 16)
        assert controller.flush() == [BASE[1]]
        guest.write(0, b"new!" * 16)
        assert guest.read(0, 64) == b"new!" * 16
        dropped = controller.invalidate()
        assert dropped == ([] if fixed else [BASE[1]])
        assert guest.read(0, 64) == (b"new!" if fixed else b"old!") * 16


def test_a_host_read_sees_what_the_cache_held_and_a_probe_does_not() -> None:
    controller = build(Model("none", cache=32))
    guest = make_guest(controller)
    guest.write(0, SECRET)
    assert controller.read(BUS, BASE[1], 16).data == bytes(16)
    assert controller.read(HOST, BASE[1], 16).data == SECRET
    assert controller.read(BUS, BASE[1], 16).data == SECRET


def test_what_a_cache_cannot_hold_is_written_back_oldest_first() -> None:
    controller = build(Model("none", cache=4))
    guest = make_guest(controller)
    for line in range(6):
        guest.write(line * 64, bytes([line + 1]) * 64)
    assert controller.cache.dirty == [BASE[1] + line * 64 for line in (2, 3, 4, 5)]


def test_untouched_memory_costs_nothing_however_large() -> None:
    from ctestbed.tee.controller.dram import Dram

    dram = Dram()
    dram.write(1 << 41, b"x")
    dram.write((1 << 40) + 5 * PAGE_SIZE, b"y")
    assert dram.touched(1 << 40, 1 << 40) == [5]
    assert dram.touched(1 << 40, 1 << 41) == [5, 1 << 28]
    assert dram.read(1 << 45, 4) == bytes(4)
    dram.forget(1 << 40, 1 << 41)
    assert dram.touched(0, dram.size) == []


@pytest.mark.parametrize(("address", "length"), [(-1, 1), (0, -1), (SIZE, 1), (0, SIZE + 1)])
def test_an_access_outside_is_refused(address: int, length: int) -> None:
    guest = make_guest(build(Model()))
    for read in (guest.read, guest.read_shared):
        with pytest.raises(InputError, match="outside the guest"):
            read(address, length)
    for who in (HOST, BUS, UNTRUSTED_DEVICE):
        with pytest.raises(InputError, match="outside the 0x100000"):
            guest.controller.read(who, (1 << 20) - 1, 2)


def test_nothing_runs_encrypted_without_a_key_and_keys_show_in_no_repr() -> None:
    controller = build(Model())
    with pytest.raises(InputError, match="slot ASID 3 holds no key"):
        controller.read(Requester(Path.GUEST_PRIVATE, 3), 0, 1)
    keys = controller.parts.keys
    for slot in (0, 5, 1):
        with pytest.raises(InputError, match="is taken or not one of"):
            keys.install(slot, bytes(16))
    with pytest.raises(InputError, match="16 bytes, not 15"):
        keys.install(3, bytes(15))
    keys.install(3, b"\xab" * 16)
    assert keys.taken == [1, 2, 3]
    assert "xabxab" not in repr(keys) + repr(make_guest(controller)) + repr(controller.parts)
    keys.erase(3)
    keys.install(3, bytes(16))
