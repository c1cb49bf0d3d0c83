"""Every platform: its launch, what each path of access gets, and what outlives a process."""

from hashlib import sha256, sha384

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, EnvironmentLacksError, InputError
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
from ctestbed.tee.csv_vendor import make_chip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.images import Image, demo_image
from ctestbed.tee.machine import VM, Machine
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.names import PLATFORMS
from ctestbed.tee.platforms import load_profile
from tests.tee import csv_oracle as oracle
from tests.tee.firmware.test_mrtd import slow_mrtd

MEMORY = 64 * PAGE_SIZE
TEXT = b"a private page, in plain text... " * 124
CONFIDENTIAL = [name for name in PLATFORMS if name != "plain"]
every_platform = pytest.mark.parametrize("platform", PLATFORMS)
every_confidential = pytest.mark.parametrize("platform", CONFIDENTIAL)
SECRET = bytes(range(32))


def make_machine(platform: str, *switches: Mitigation, cache: int = 0) -> Machine:
    chip = make_chip(Entropy(1)) if platform == "csv" else None
    profile = load_profile(platform)
    return Machine(profile, chip, entropy=Entropy(1), secret=SECRET, switches=switches, cache=cache)


def make_vm(platform: str, *switches: Mitigation, name: str = "a", debug: bool = False) -> VM:
    machine = make_machine(platform, *switches)
    return machine.launch(name, MEMORY, demo_image(), allow_debug=debug)


@every_platform
def test_a_guest_reads_its_image_and_whatever_it_writes_anywhere(platform: str) -> None:
    vm = make_vm(platform)
    assert vm.memory.read(0, 65536) == demo_image().content
    vm.memory.write(40 * PAGE_SIZE - 100, TEXT)
    vm.memory.write(63 * PAGE_SIZE, b"end")
    assert vm.memory.read(40 * PAGE_SIZE - 100, len(TEXT)) == TEXT
    assert vm.memory.read(63 * PAGE_SIZE, 3) == b"end"
    with pytest.raises(InputError, match="outside the guest"):
        vm.memory.read(MEMORY, 1)


HOST_READS = {
    "csv": ReplyKind.CIPHERTEXT,
    "csv2": ReplyKind.CIPHERTEXT,
    "csv3": FaultKind.ISOLATION,
    "sev": ReplyKind.CIPHERTEXT,
    "sev-es": ReplyKind.CIPHERTEXT,
    "snp": ReplyKind.CIPHERTEXT,
    "tdx": ReplyKind.PATTERN,
    "cca": FaultKind.GRANULE,
    "virtcca": FaultKind.EXTERNAL_ABORT,
    "plain": ReplyKind.DATA,
}
HOST_WRITES = {
    "csv": None,
    "csv2": None,
    "csv3": FaultKind.ISOLATION,
    "sev": None,
    "sev-es": None,
    "snp": FaultKind.RMP,
    "tdx": ReplyKind.POISON,
    "cca": FaultKind.GRANULE,
    "virtcca": FaultKind.EXTERNAL_ABORT,
    "plain": None,
}


@every_platform
def test_the_host_gets_what_the_profile_says(platform: str) -> None:
    vm = make_vm(platform)
    facts = load_profile(platform).memory
    vm.memory.write(0, TEXT)
    reply = vm.host_reply(0, len(TEXT))
    got = reply.fault.kind if reply.fault else reply.kind
    assert got is HOST_READS[platform]
    named = {"ciphertext": "ciphertext", "fixed pattern": "fixed pattern", "data": "plaintext"}
    assert facts.host_read.value == named.get(got, "fault")
    assert (b"private" in reply.data) is (platform == "plain")
    place = vm.memory.place(0)
    before = vm.memory.controller.dram.read(place, PAGE_SIZE)
    written = vm.memory.controller.write(HOST, place, b"overwritten by host!")
    if written.fault:
        assert written.fault.kind is HOST_WRITES[platform]
        assert facts.host_write.value == "fault"
        assert vm.memory.controller.dram.read(place, PAGE_SIZE) == before
        assert vm.memory.read(0, len(TEXT)) == TEXT
    elif written.kind is ReplyKind.POISON:
        assert facts.host_write.value == "poison"
        with pytest.raises(MemoryFaultError, match="#MC"):
            vm.memory.read(0, 1)
    else:
        assert facts.host_write.value == "allowed"
        assert (vm.memory.read(0, 20) == b"overwritten by host!") is (platform == "plain")


@every_confidential
def test_no_path_but_its_own_gives_plaintext(platform: str) -> None:
    machine = make_machine(platform)
    vm = machine.launch("a", MEMORY, demo_image())
    other = machine.launch("b", MEMORY, demo_image())
    vm.memory.write(0, TEXT)
    controller, place = machine.controller, vm.memory.place(0)
    for who in (
        HOST,
        UNTRUSTED_DEVICE,
        Requester(Path.OTHER_GUEST, other.guest.slot, 0),
        Requester(Path.OTHER_GUEST, other.guest.slot),
        Requester(Path.DMA_ACCEPTED, other.guest.slot, 0),
        Requester(Path.GUEST_SHARED, 0, 0),
        BUS,
    ):
        reply = controller.read(who, place, len(TEXT))
        shown = b"private" in reply.data
        assert shown is (who is BUS and platform == "virtcca"), who
    other.memory.moved[1] = place // PAGE_SIZE
    reply = other.memory.try_read(PAGE_SIZE, len(TEXT))
    shared_key = platform in {"cca", "virtcca"}
    assert b"private" not in reply.data
    assert reply.fault is not None or not shared_key


@every_confidential
def test_an_accepted_device_reaches_its_own_guest_alone_where_there_are_such_devices(
    platform: str,
) -> None:
    machine = make_machine(platform)
    vm = machine.launch("a", MEMORY, demo_image())
    device = Requester(Path.DMA_ACCEPTED, vm.guest.slot, 0)
    reply = machine.controller.read(device, vm.memory.place(0), 64)
    accepts = load_profile(platform).memory.accepted_devices.value
    assert (reply.data == demo_image().content[:64]) is accepts


@every_confidential
def test_pages_the_guest_shares_are_everybodys(platform: str) -> None:
    vm = make_vm(platform)
    vm.memory.write_shared(50 * PAGE_SIZE, b"for the host")
    assert vm.host_view(50 * PAGE_SIZE, 12) == b"for the host"
    assert vm.memory.read_shared(50 * PAGE_SIZE, 12) == b"for the host"


def expected_measurement(platform: str, image: bytes, vm: VM) -> bytes | None:
    """The measurement by the platform's rule, from the facts, for the ones that are short."""
    pages = image + bytes(-len(image) % PAGE_SIZE)
    vmsa = vm.guest.vcpus[0].load()
    found = {
        "csv": oracle.sm3(image),
        "plain": oracle.sm3(image),
        "csv2": oracle.sm3(image + vmsa),
        "sev": sha256(image).digest(),
        "sev-es": sha256(image + vmsa).digest(),
        "tdx": slow_mrtd([(0, pages)]),
    }.get(platform)
    if platform == "snp":
        digest = bytes(48)
        rows = [(1, at, pages[at : at + PAGE_SIZE]) for at in range(0, len(pages), PAGE_SIZE)]
        for kind, at, page in [*rows, (2, 0xFFFFFFFFF000, vmsa)]:
            info = digest + sha384(page).digest() + bytes([0x70, 0, kind, 0, 0, 0, 0, 0])
            digest = sha384(info + at.to_bytes(8, "little")).digest()
        return digest
    return found


@every_platform
@pytest.mark.parametrize("size", [16, 4096, 4112, 65536])
def test_a_launch_measures_by_the_platforms_rule(platform: str, size: int) -> None:
    vm = make_machine(platform).launch("a", MEMORY, demo_image(size))
    expected = expected_measurement(platform, demo_image(size).padded, vm)
    if expected is not None:
        assert vm.record.measurement == expected.hex()


@every_confidential
def test_a_measurement_holds_the_image_and_nothing_of_the_machine(platform: str) -> None:
    one = make_machine(platform).launch("a", MEMORY, demo_image()).record
    profile = load_profile(platform)
    chip = make_chip(Entropy()) if platform == "csv" else None
    two = Machine(profile, chip).launch("b", MEMORY, demo_image()).record
    assert one.measurement == two.measurement
    changed = bytearray(demo_image().content)
    changed[-1] ^= 1
    other = make_machine(platform).launch("a", MEMORY, Image("i", bytes(changed)))
    assert other.record.measurement != one.measurement
    swapped = TEXT[:PAGE_SIZE].ljust(PAGE_SIZE) + bytes(PAGE_SIZE)
    orders = [Image("i", swapped), Image("i", swapped[PAGE_SIZE:] + swapped[:PAGE_SIZE])]
    seen = {make_machine(platform).launch("a", MEMORY, i).record.measurement for i in orders}
    assert len(seen) == 2


@every_platform
def test_a_vm_is_taken_up_by_another_process_as_it_was(platform: str) -> None:
    for switches in ((), (Mitigation.COUNTER_TREE,)):
        if switches and Mitigation.COUNTER_TREE not in load_profile(platform).switches:
            continue
        machine = make_machine(platform, *switches)
        vm = machine.launch("a", MEMORY, demo_image(), vcpus=2)
        frames = b"".join(bytes(part) for part in vm.frame_data())
        again = make_machine(platform, *switches).resume(vm.record, frames)
        assert again.memory.read(0, 65536) == demo_image().content
        first, second = vm.host_reply(0, 4096), again.host_reply(0, 4096)
        assert (first.kind, first.data) == (second.kind, second.data)
        again.memory.write(30 * PAGE_SIZE, b"later")
        assert again.memory.read(30 * PAGE_SIZE, 5) == b"later"
        assert again.guest.vcpus[1].registers() == vm.guest.vcpus[1].registers()


@every_platform
def test_a_stopped_vm_leaves_its_slot_its_pages_and_no_data(platform: str) -> None:
    machine = make_machine(platform)
    vm = machine.launch("a", MEMORY, demo_image())
    base, slot = vm.record.base, vm.guest.slot
    machine.stop(vm)
    assert machine.controller.read(HOST, base, PAGE_SIZE).data == bytes(PAGE_SIZE)
    again = machine.launch("b", MEMORY, demo_image())
    assert (again.record.base, again.guest.slot) == (base, slot)
    assert again.memory.read(0, 65536) == demo_image().content


@every_platform
def test_an_image_larger_than_memory_names_the_status(platform: str) -> None:
    machine = make_machine(platform)
    with pytest.raises(InputError, match=r"returns [A-Z_]+: the image has 65536 bytes") as caught:
        machine.launch("a", 4 * PAGE_SIZE, demo_image())
    assert caught.value.code == "CTB-M075"
    machine.launch("a", MEMORY, demo_image())


SLOT_STATUS = {
    "csv": "ASID_OWNED",
    "csv2": "ASID_OWNED",
    "csv3": "ASID_OWNED",
    "sev": "ASID_OWNED",
    "sev-es": "ASID_OWNED",
    "snp": "ASID_OWNED",
    "tdx": "TDX_HKID_NOT_FREE",
    "cca": "RMI_ERROR_INPUT",
    "virtcca": "TMI_ERROR_IN_USE",
}


@every_confidential
def test_a_slot_serves_one_guest_and_they_run_out(platform: str) -> None:
    machine = make_machine(platform)
    machine.launch("a", PAGE_SIZE, demo_image(16), slot=3)
    with pytest.raises(InputError, match=SLOT_STATUS[platform]) as caught:
        machine.launch("b", PAGE_SIZE, demo_image(16), slot=3)
    assert caught.value.code == "CTB-M076"
    with pytest.raises(InputError, match="not one of 1-") as caught:
        machine.launch("c", PAGE_SIZE, demo_image(16), slot=100_000)
    assert caught.value.code == "CTB-M076"
    machine = make_machine(platform)
    count = machine.controller.parts.keys.count
    for index in range(count):
        machine.launch(f"vm{index}", PAGE_SIZE, demo_image(16))
    with pytest.raises(EnvironmentLacksError, match=f"all {count} key slots") as lacks:
        machine.launch("more", PAGE_SIZE, demo_image(16))
    assert lacks.value.code == "CTB-M050"


@every_platform
def test_debugging_is_as_the_policy_says(platform: str) -> None:
    if platform == "virtcca":
        with pytest.raises(InputError, match="documents no launch"):
            make_vm(platform, debug=True)
        return
    machine = make_machine(platform)
    open_vm = machine.launch("open", MEMORY, demo_image(), allow_debug=True)
    assert machine.platform.debug_read(open_vm.guest, 5, 9) == demo_image().content[5:14]
    if platform == "plain":
        return
    shut = machine.launch("shut", MEMORY, demo_image())
    assert shut.record.policy != open_vm.record.policy
    with pytest.raises(CtestbedError) as caught:
        machine.platform.debug_read(shut.guest, 0, 16)
    assert (caught.value.code, caught.value.exit_code) == ("CTB-M042", 12)


SAVED_AS = {
    "in clear": (True, True),
    "encrypted, checked at entry": (False, True),
    "a page of the guest": (False, False),
}


@every_platform
def test_registers_are_kept_as_the_profile_says(platform: str) -> None:
    vm = make_vm(platform)
    cpu = vm.guest.vcpus[0]
    name = "x3" if "x3" in cpu.layout else "rbx"
    cpu.set_registers(**{name: 0x1122334455667788})
    assert cpu.registers()[name] == 0x1122334455667788
    seen, written = SAVED_AS[load_profile(platform).guest.save_area.value]
    view = cpu.host_view()
    assert (bytes.fromhex("8877665544332211") in view.data) is seen
    before = vm.memory.controller.dram.read(cpu.area, PAGE_SIZE)
    vm.memory.controller.write(HOST, cpu.area + cpu.layout[name], b"\xff" * 16)
    changed = vm.memory.controller.dram.read(cpu.area, PAGE_SIZE) != before
    if seen:
        assert cpu.registers()[name] == 2**64 - 1
    elif changed:  # SEV-ES and CSV2 write; TDX poisons
        with pytest.raises(InputError, match="VMEXIT_INVALID") as caught:
            cpu.registers()
        assert caught.value.code == "CTB-M080"
        assert written or platform == "tdx"
    else:
        assert cpu.registers()[name] == 0x1122334455667788


@every_platform
def test_a_terabyte_costs_what_is_touched(platform: str) -> None:
    vm = make_machine(platform).launch("a", 1 << 40, demo_image(PAGE_SIZE))
    assert len(vm.frames()) <= 3
    vm.memory.write((1 << 40) - 8, b"the end!")
    assert vm.memory.read((1 << 40) - 8, 8) == b"the end!"
    assert len(vm.frames()) <= 4


MEASURED = {"snp", "csv3", "tdx", "cca", "virtcca"}


@every_confidential
@settings(max_examples=8)
@given(data=st.data())
def test_remapping_gives_a_fault_where_tables_are_kept_and_data_elsewhere(
    platform: str, data: st.DataObject
) -> None:
    vm = make_vm(platform)
    vm.memory.write(0, b"one!" * 1024)
    vm.memory.write(PAGE_SIZE, b"two!" * 1024)
    page = data.draw(st.integers(0, 15))
    target = data.draw(st.integers(0, 15).filter(lambda number: number != page))
    vm.memory.moved[page] = vm.memory.base // PAGE_SIZE + target
    reply = vm.memory.try_read(page * PAGE_SIZE, 64)
    if platform in MEASURED:
        assert reply.fault is not None
        assert not reply.data
    else:  # nothing tells the guest: the physical address is all that the cipher knows
        assert reply.data == vm.memory.read(target * PAGE_SIZE, 64)


def test_mec_gives_each_realm_a_key_and_without_it_the_world_has_one() -> None:
    for switches, alike in (((), True), ((Mitigation.MEC,), False)):
        machine = make_machine("cca", *switches)
        one, two = (machine.launch(name, MEMORY, demo_image()) for name in "ab")
        assert (one.record.key == two.record.key) is alike


def test_switches_change_what_they_say() -> None:
    hidden = make_vm("snp", Mitigation.CIPHERTEXT_HIDING)
    assert hidden.host_reply(0, 64).kind is ReplyKind.PATTERN
    restricted = make_vm("snp", Mitigation.RESTRICTED_INJECTION).guest.vcpus[0]
    with pytest.raises(InputError, match="restricted to #HV"):
        restricted.inject("exception", 29)
    assert restricted.inject("exception", 28).vector == 28
    logical = make_vm("tdx", Mitigation.LOGICAL_INTEGRITY)
    line = logical.memory.place(0)
    dram = logical.memory.controller.dram
    dram.write(line, bytes(64))  # a change on the bus, which leaves the owner bit alone
    assert logical.memory.try_read(0, 64).fault is None
    full = make_vm("tdx")
    full.memory.controller.dram.write(full.memory.place(0), bytes(64))
    assert full.memory.try_read(0, 64).fault is not None


def test_an_alias_check_at_boot_finds_what_is_masked_then_and_not_later() -> None:
    machine = make_machine("snp", Mitigation.ALIAS_CHECK)
    machine.controller.dram.mask_lines(1 << 35)
    with pytest.raises(InputError, match="HWERROR_UNSAFE") as caught:
        machine.launch("a", MEMORY, demo_image())
    assert caught.value.code == "CTB-M078"
    machine.controller.dram.mask_lines(0)
    machine.launch("a", MEMORY, demo_image())
    machine.controller.dram.mask_lines(1 << 35)
    make_machine("snp").launch("a", MEMORY, demo_image())


@pytest.mark.parametrize(
    ("platform", "exceptions"), [("sev", True), ("snp", True), ("tdx", False), ("cca", False)]
)
def test_events_are_injected_where_the_platform_lets_the_host(
    platform: str, exceptions: bool
) -> None:
    cpu = make_vm(platform).guest.vcpus[0]
    cpu.inject("interrupt", 0x80)
    if exceptions:
        cpu.inject("exception", 29)
    else:
        with pytest.raises(InputError, match="cannot inject exceptions") as caught:
            cpu.inject("exception", 29)
        assert caught.value.code == "CTB-M081"
    assert [event.vector for event in cpu.deliver()] == [0x80, 29][: 1 + exceptions]
    assert cpu.deliver() == []
    with pytest.raises(InputError, match="no vector 256"):
        cpu.inject("interrupt", 256)
