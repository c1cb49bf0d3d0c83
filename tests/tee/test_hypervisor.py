"""The means of attackers: each does something where it can, and meets its fault where it cannot."""

import pytest

from ctestbed.core.errors import InputError
from ctestbed.tee.controller.ownership import Page
from ctestbed.tee.controller.replies import PAGE_SIZE, FaultKind
from ctestbed.tee.hypervisor import Hypervisor
from ctestbed.tee.images import demo_image
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.vcpu import EventKind, Touch
from tests.tee.test_platforms import MEMORY, make_machine


def test_ciphertext_is_replayed_on_sev_and_not_on_snp_but_on_its_bus() -> None:
    for platform, by_software in (("sev", True), ("snp", False)):
        host = Hypervisor(machine := make_machine(platform))
        vm = machine.launch("a", MEMORY, demo_image())
        vm.memory.write(0, b"old!" * 16)
        old, pins = host.read(vm, 0, 64).data, host.probe(vm, 0, 64)
        vm.memory.write(0, b"new!" * 16)
        assert (host.write(vm, 0, old).fault is None) is by_software
        assert vm.memory.read(0, 64) == (b"old!" if by_software else b"new!") * 16
        vm.memory.write(0, b"new!" * 16)
        host.replay(vm, 0, pins)
        assert vm.memory.read(0, 64) == b"old!" * 16


def test_reassigning_a_page_on_snp_makes_it_invalid_and_the_guest_is_told() -> None:
    host = Hypervisor(machine := make_machine("snp"))
    vm = machine.launch("a", MEMORY, demo_image())
    host.remap(vm, PAGE_SIZE, 2 * PAGE_SIZE)
    reply = vm.memory.try_read(PAGE_SIZE, 16)
    assert reply.fault is not None
    assert reply.fault.kind is FaultKind.NESTED_PAGE_FAULT
    host.reassign(vm, PAGE_SIZE, PAGE_SIZE)
    reply = vm.memory.try_read(PAGE_SIZE, 16)
    assert reply.fault is not None
    assert reply.fault.kind is FaultKind.VC
    with pytest.raises(InputError, match="not an instruction"):
        Hypervisor(make_machine("sev")).reassign(vm, 0, 0)


def test_another_vms_asid_reads_its_memory_on_sev_alone() -> None:
    for platform, reads in (("sev", True), ("snp", False), ("tdx", False), ("csv3", False)):
        host = Hypervisor(machine := make_machine(platform))
        victim = machine.launch("victim", MEMORY, demo_image())
        attacker = machine.launch("attacker", MEMORY, demo_image(16))
        frames = {5: victim.memory.place(0) // PAGE_SIZE}
        seen = host.enter_as(attacker, victim.guest.slot, frames).try_read(5 * PAGE_SIZE, 64)
        assert (seen.data == demo_image().content[:64]) is reads
        with pytest.raises(InputError, match="VMEXIT_INVALID"):
            make_machine("snp").launch("x", MEMORY, demo_image()).guest.vcpus[0].load(7)


def test_the_table_of_snp_is_written_during_set_up_unless_firmware_guards_it() -> None:
    for switches, stored in (((), True), ((Mitigation.FIXED_FIRMWARE,), False)):
        host = Hypervisor(machine := make_machine("snp", *switches))
        met = host.race_rmp({0x5000: Page(owner=3, state=1, flags=1, guest=0)})
        assert (met == [None]) is stored
        assert (machine.controller.ownership.owner(0x5000) == 3) is stored
        later = machine.platform.rmp.overwrite(0x6000, Page(3, 1, 1, 0))  # type: ignore[attr-defined]
        assert later.fault.kind is FaultKind.RMP
    with pytest.raises(InputError, match="not a command"):
        Hypervisor(make_machine("tdx")).race_rmp({})


def test_an_alias_carries_a_mac_along_and_a_tree_does_not_fall_for_it() -> None:
    line = 1 << 33
    for platform, switches, stopped in (
        ("tdx", (), False),
        ("tdx", (Mitigation.COUNTER_TREE,), True),
        ("snp", (), False),
    ):
        host = Hypervisor(machine := make_machine(platform, *switches))
        vm = machine.launch("a", MEMORY, demo_image())
        vm.memory.write(0, b"old!" * 16)
        place, dram = vm.memory.place(0), machine.controller.dram
        host.mask_lines(line)
        old = dram.capture(place ^ line, 64)
        host.mask_lines(0)
        vm.memory.write(0, b"new!" * 16)
        host.mask_lines(line)
        dram.restore(place ^ line, old)
        host.mask_lines(0)
        seen = vm.memory.try_read(0, 64)
        assert (seen.fault is not None) is stopped
        assert stopped or seen.data == b"old!" * 16


def test_invd_brings_old_data_back_where_the_processor_drops_lines() -> None:
    for platform, switches, back in (
        ("snp", (), True),
        ("snp", (Mitigation.FIXED_INVD,), False),
        ("tdx", (), False),
    ):
        host = Hypervisor(machine := make_machine(platform, *switches, cache=64))
        vm = machine.launch("a", MEMORY, demo_image())
        vm.memory.write(0, b"old!" * 16)
        host.wbinvd()
        vm.memory.write(0, b"new!" * 16)
        assert bool(host.invd()) is back
        assert vm.memory.read(0, 64) == (b"old!" if back else b"new!") * 16


def test_single_steps_count_instructions_and_show_pages() -> None:
    host = Hypervisor(machine := make_machine("snp"))
    vm = machine.launch("a", MEMORY, demo_image())
    secret = [1, 0, 1, 1, 0]
    program = [Touch((3 if bit else 2) * PAGE_SIZE) for bit in secret]
    trace = host.single_step(vm, program)
    assert [entry.page == 3 for entry in trace] == [bool(bit) for bit in secret]
    assert [entry.instructions for entry in trace] == [1, 2, 3, 4, 5]
    assert vm.guest.vcpus[0].run(program, vm.memory) == []
    assert host.inject(vm, EventKind.INTERRUPT, 0x80).vector == 0x80
    assert vm.guest.vcpus[0].run(program, vm.memory, step=2)[0].instructions == 2


def test_old_firmware_signs_as_new_only_where_keys_do_not_depend_on_versions() -> None:
    for platform, same in (("sev", True), ("snp", False)):
        machine = make_machine(platform)
        machine.version.load(5)
        new = machine.version.signing_secret()
        assert (Hypervisor(machine).roll_back(2) == new) is same
        machine.version.anti_rollback = True
        machine.version.commit()
        with pytest.raises(InputError, match="BAD_SVN") as caught:
            Hypervisor(machine).roll_back(1)
        assert caught.value.code == "CTB-M082"
    with pytest.raises(InputError, match="cannot derive"):
        machine.version.signing_secret(3)
    assert machine.version.signing_secret(1) != machine.version.signing_secret(2)
