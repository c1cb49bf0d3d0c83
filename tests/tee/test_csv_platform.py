"""Launch and attestation, judged by a second reader that the real Hygon report vouches for."""

import json
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import EnvironmentLacksError, InputError, PolicyRefusedError
from ctestbed.evidence.csv_certificate import dump_chip_certificate, dump_root_certificate
from ctestbed.evidence.csv_report import dump_report
from ctestbed.tee.assemble import build_controller
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.replies import HOST
from ctestbed.tee.csv_platform import AttestationRequest, CSVFirmware
from ctestbed.tee.csv_vendor import CSVChip, dump_chip, load_chip, make_chip
from ctestbed.tee.demonstration import demonstrate_csv
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.images import Image, demo_image
from ctestbed.tee.machine import Machine
from ctestbed.tee.platforms import load_profile
from tests.shared import shared_data
from tests.tee import csv_oracle as oracle

DATA = bytes(range(64))
NODBG = 1


def make_firmware() -> tuple[CSVFirmware, MemoryController]:
    controller = build_controller(load_profile("csv"), bytes(32))
    return CSVFirmware(make_chip(Entropy(1)), controller), controller


def start(firmware: CSVFirmware, policy: int = 0, seed: int = 1) -> int:
    handle = firmware.launch_start(policy, Entropy(seed, "vm"))
    firmware.activate(handle, 1)
    return handle


def launched(image: bytes = b"guest image 0123", policy: int = NODBG) -> CSVFirmware:
    firmware, controller = make_firmware()
    controller.write(HOST, 0, image)
    start(firmware, policy)
    firmware.launch_update_data(1, 0, len(image))
    firmware.launch_measure(1)
    firmware.launch_finish(1)
    return firmware


def test_the_second_reader_accepts_the_real_report() -> None:
    root = shared_data("evidence/roots/hygon_hrk.cert").read_bytes()
    chain = shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()
    report = shared_data("evidence/csv/csv1_report_raw.bin").read_bytes()
    assert oracle.failures(report, root + chain) == []
    assert oracle.unmask(report, 64, 9) == b"user data"


@pytest.mark.parametrize("seed", [None, 0, 2**70])
def test_the_second_reader_accepts_an_emulated_report(seed: int | None) -> None:
    machine = Machine(load_profile("csv"), chip := make_chip(Entropy(seed)))
    image = Image("i", b"not a whole number of blocks")
    vm = machine.launch("a", 1 << 20, image, allow_debug=True)
    report = dump_report(machine.attest(vm, DATA))
    assert oracle.failures(report, chip.endorsements) == []
    assert oracle.unmask(report, 0, 64) == bytes(64)
    assert oracle.unmask(report, 64, 64) == DATA
    assert oracle.unmask(report, 144, 32) == oracle.sm3(image.content + bytes(4))
    assert oracle.unmask(report, 176, 4) == bytes(4)
    assert oracle.unmask(report, 2420, 64).rstrip(b"\0").startswith(b"EMULATED")
    pek = oracle.unmask(report, 336, 2084)
    assert oracle.chip_signed(pek, 1, oracle.chip_key(dump_chip_certificate(chip.oca)))


def structure(hrk: bytes, hsk: bytes, cek: bytes, pek: bytes) -> dict[str, object]:
    """Everything in a chain but keys, names, ids and signatures."""
    found: dict[str, object] = {}
    for name, cert in (("hrk", hrk), ("hsk", hsk)):
        found[name] = [oracle.u32(cert, offset) for offset in (0, 36, 64)]
        found[name + " rest"] = any(cert[40:64] + cert[468:576] + cert[720:832])
    found["hsk names its signer"] = hsk[20:36] == hrk[4:20]
    found["hrk signs itself"] = hrk[20:36] == hrk[4:20]
    found["cek names its signer"] = cek[420:436] == hsk[4:20]
    found["pek names its signer"] = any(pek[420:436])
    for name, cert in (("cek", cek), ("pek", pek)):
        found[name] = [oracle.u32(cert, offset) for offset in (0, 4, 8, 12, 16)]
        found[name + " slots"] = [
            (oracle.u32(cert, at), oracle.u32(cert, at + 4), any(cert[at + 8 : at + 152]))
            for at in (1044, 1564)
        ]
        found[name + " rest"] = any(cert[436:1044] + cert[1196:1564] + cert[1716:2084])
    return found


def test_the_emulated_chain_is_built_as_the_real_one() -> None:
    hrk = shared_data("evidence/roots/hygon_hrk.cert").read_bytes()
    chain = shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()
    report = shared_data("evidence/csv/csv1_report_raw.bin").read_bytes()
    real = structure(hrk, chain[:832], chain[832:], oracle.unmask(report, 336, 2084))
    chip = make_chip(Entropy())
    ours = structure(*oracle.split(chip.endorsements), dump_chip_certificate(chip.pek))
    assert ours == real


def test_every_identity_says_emulated_and_a_seeded_one_says_so() -> None:
    for seed, prefix in ((None, b"CTESTBED-EMULATED-"), (3, b"CTESTBED-EMULATED-SEEDED-")):
        chip = make_chip(Entropy(seed))
        certificates = (chip.hrk, chip.hsk, chip.cek, chip.oca, chip.pek)
        roles = (b"HRK", b"HSK", b"CEK", b"OCA", b"PEK")
        assert [c.uid for c in certificates] == [prefix + role for role in roles]
        assert chip.serial.startswith(b"EMULATED")


def test_a_seed_names_one_chip_and_fresh_chips_are_never_alike() -> None:
    assert dump_chip(make_chip(Entropy(5))) == dump_chip(make_chip(Entropy(5)))
    assert make_chip(Entropy(5)).root_fingerprint != make_chip(Entropy(6)).root_fingerprint
    assert make_chip(Entropy()).root_fingerprint != make_chip(Entropy()).root_fingerprint


def test_no_private_key_shows() -> None:
    chip = make_chip(Entropy(5))
    shown = repr(chip) + repr(chip.keys) + str(chip)
    for key in chip.keys.values():
        assert str(key.d) not in shown
        assert f"{key.d:x}" not in shown


def test_a_chip_survives_its_file() -> None:
    chip = make_chip(Entropy())
    again = load_chip(dump_chip(chip))
    assert again == chip
    assert dump_root_certificate(again.hrk) == chip.root_certificate


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_chip_file_is_refused_or_read_as_it_was(data: st.DataObject) -> None:
    content = bytearray(dump_chip(CHIP))
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + data.draw(st.integers(1, 200))] = data.draw(st.binary(max_size=9))
    try:
        again = load_chip(bytes(content))
    except InputError as error:
        assert error.code == "CTB-M060"
        assert not any(f"{key.d:x}" in error.message for key in CHIP.keys.values())
    else:
        assert again.keys == CHIP.keys


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("version", 2, "its version is not 1"),
        ("seed", "7", "its seed is not a number"),
        ("keys", dict.fromkeys(("HRK", "HSK", "CEK", "OCA", "PEK"), "01"), "HRK key is not"),
    ],
)
def test_a_chip_file_that_makes_no_sense_says_why(key: str, value: object, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        load_chip(json.dumps({**json.loads(dump_chip(CHIP)), key: value}).encode())


CHIP: CSVChip = make_chip(Entropy(9))

COMMANDS: dict[str, Callable[[CSVFirmware], object]] = {
    "update": lambda firmware: firmware.launch_update_data(1, 0, 16),
    "measure": lambda firmware: firmware.launch_measure(1),
    "finish": lambda firmware: firmware.launch_finish(1),
    "attest": lambda firmware: firmware.attestation(1, AttestationRequest.of(DATA, bytes(16))),
    "debug": lambda firmware: firmware.dbg_decrypt(1, 0, 16),
}
AFTER = {  # state -> command -> state, from the SEV command set; what is absent is refused
    "LUPDATE": {"update": "LUPDATE", "measure": "LSECRET"},
    "LSECRET": {"finish": "RUNNING"},
    "RUNNING": {"attest": "RUNNING", "debug": "RUNNING"},
}


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(sorted(COMMANDS)), max_size=7))
def test_commands_are_taken_in_order_and_refused_out_of_it(commands: list[str]) -> None:
    firmware, _controller = make_firmware()
    with pytest.raises(InputError, match="INVALID_GUEST: there is no guest"):
        COMMANDS[commands[0] if commands else "finish"](firmware)
    start(firmware)
    state = "LUPDATE"
    for command in commands:
        if command in AFTER[state]:
            COMMANDS[command](firmware)
            state = AFTER[state][command]
        else:
            with pytest.raises(InputError, match=f"INVALID_GUEST_STATE: the guest is in {state}"):
                COMMANDS[command](firmware)


@given(st.lists(st.tuples(st.integers(0, 63), st.integers(1, 8)), min_size=1, max_size=5))
def test_the_launch_digest_is_sm3_over_the_data_in_update_order(
    updates: list[tuple[int, int]],
) -> None:
    firmware, controller = make_firmware()
    start(firmware)
    measured = b""
    for block, count in updates:
        data = bytes([block, count]) * (8 * count)
        controller.write(HOST, 16 * block, data)
        firmware.launch_update_data(1, 16 * block, len(data))
        measured += data
        assert controller.load_private(1, 16 * block, len(data)).data == data
        assert controller.read(HOST, 16 * block, len(data)).data != data
    assert firmware.launch_measure(1) == oracle.sm3(measured)


@pytest.mark.parametrize(("address", "length"), [(8, 16), (0, 15), (0, 0), (1, 1)])
def test_launch_data_is_whole_blocks(address: int, length: int) -> None:
    firmware, _controller = make_firmware()
    start(firmware)
    with pytest.raises(InputError, match="whole 16-byte blocks"):
        firmware.launch_update_data(1, address, length)


@pytest.mark.parametrize(
    "request_",
    [
        AttestationRequest(DATA, bytes(16), bytes(32)),
        AttestationRequest(DATA, bytes(16), oracle.sm3(DATA)),
        AttestationRequest.of(DATA[:-1], bytes(16)),
        AttestationRequest.of(DATA, bytes(17)),
    ],
)
def test_a_malformed_request_is_refused(request_: AttestationRequest) -> None:
    with pytest.raises(InputError) as caught:
        launched().attestation(1, request_)
    assert caught.value.code == "CTB-M043"


def test_a_request_carries_the_digest_the_facts_give() -> None:
    request = AttestationRequest.of(DATA, bytes(16))
    assert request.digest == oracle.sm3(DATA + bytes(16))


def test_debugging_is_as_the_policy_says() -> None:
    assert launched(policy=0).dbg_decrypt(1, 0, 5) == b"guest"
    with pytest.raises(PolicyRefusedError, match="NODBG"):
        launched(policy=NODBG).dbg_decrypt(1, 0, 5)


def test_a_decommissioned_guest_is_gone_with_its_key() -> None:
    firmware = launched()
    firmware.deactivate(1)
    firmware.decommission(1)
    with pytest.raises(InputError, match="no guest"):
        firmware.attestation(1, AttestationRequest.of(DATA, bytes(16)))
    assert start(firmware, seed=2) == 2


def test_two_reports_of_one_guest_share_no_mask_and_no_mnonce() -> None:
    machine = Machine(load_profile("csv"), make_chip(Entropy()))
    vm = machine.launch("a", 1 << 20, demo_image())
    first, second = machine.attest(vm, DATA), machine.attest(vm, DATA)
    assert first.mnonce != second.mnonce
    assert (first.anonce, first.reserved) != (second.anonce, second.reserved)
    assert (first.measure, first.report_data) == (second.measure, second.report_data)


def test_vms_of_one_machine_share_no_key_no_slot_and_no_memory() -> None:
    machine = Machine(load_profile("csv"), make_chip(Entropy(1)))
    vms = [machine.launch(f"vm{index}", 1 << 16, demo_image()) for index in range(15)]
    records = [vm.record for vm in vms]
    assert {record.asid for record in records} == set(range(1, 16))
    assert len({record.key for record in records}) == 15
    bases = sorted(record.base for record in records)
    assert all(low + (1 << 16) <= high for low, high in pairwise(bases))
    assert all(vm.memory.read(0, 1 << 16) == demo_image().content for vm in vms)
    assert len({vm.host_view(0, 4096) for vm in vms}) == 15
    with pytest.raises(EnvironmentLacksError, match="all 15 key slots"):
        machine.launch("more", 1 << 16, demo_image())


def test_a_freed_gap_of_memory_is_used_again() -> None:
    profile = load_profile("plain")
    machine = Machine(profile, None)
    low, middle, high = (
        machine.launch(name, 1 << 16, demo_image()).record for name in ("low", "middle", "high")
    )
    again = Machine(profile, None, [high, low])
    assert again.launch("fits", 1 << 16, demo_image()).record.base == middle.base
    assert again.launch("next", 1 << 16, demo_image()).record.base == high.base + high.extent


def test_physical_memory_ends() -> None:
    machine = Machine(load_profile("plain"), None)
    for index in range(255):
        machine.launch(f"vm{index}", 1 << 40, demo_image(16))
    with pytest.raises(EnvironmentLacksError, match="no physical memory left"):
        machine.launch("more", 1 << 40, demo_image(16))


def test_plain_hides_nothing_and_signs_nothing() -> None:
    machine = Machine(load_profile("plain"), None)
    vm = machine.launch("a", 1 << 16, demo_image())
    assert vm.host_view(0, 4096) == vm.memory.read(0, 4096) == demo_image().content[:4096]
    with pytest.raises(InputError, match="signs no evidence"):
        machine.attest(vm, DATA)


def test_the_demonstration_repeats_and_is_authentic() -> None:
    shown, again = demonstrate_csv(7), demonstrate_csv(7)
    assert shown == again
    assert oracle.failures(shown.report, shown.endorsements) == []
    assert oracle.unmask(shown.report, 64, 64) == shown.report_data
    assert oracle.sm3(shown.image) == shown.measurement
    assert shown.guest_view == shown.image[:4096] != shown.host_view
    assert demonstrate_csv(8).root_fingerprint != shown.root_fingerprint
    assert demonstrate_csv(7, report_data=DATA).report != shown.report
