"""Launch state machines: any order of commands, against a table of what each state takes.

And the reverse map table as a state machine of its own, against a model in plain Python.
"""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.tee.assemble import build_controller, build_platform
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE, FaultKind, Path, Requester
from ctestbed.tee.controller.rmp import ReverseMap
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import Platform
from ctestbed.tee.firmware.csv import Csv3Firmware
from ctestbed.tee.firmware.realms import Monitor
from ctestbed.tee.firmware.sev import SevFirmware
from ctestbed.tee.firmware.snp import SnpFirmware
from ctestbed.tee.firmware.snp_digest import PageType
from ctestbed.tee.firmware.tdx import TdxModule
from ctestbed.tee.platforms import load_profile

PAGE = b"p" * PAGE_SIZE
ROOT = 0x100000
DATA = 0x200000
Command = Callable[[], object]


def make(platform: str) -> Platform:
    profile = load_profile(platform)
    return build_platform(profile, build_controller(profile, bytes(32)))


def sev(platform: str) -> tuple[dict[str, Command], dict[str, dict[str, str]], str]:
    firmware = make(platform)
    assert isinstance(firmware, SevFirmware)
    policy = 5 if platform == "sev-es" else 1
    handle = firmware.launch_start(policy, Entropy(1))
    commands: dict[str, Command] = {
        "activate": lambda: firmware.activate(handle, 1),
        "update": lambda: firmware.launch_update_data(handle, DATA, PAGE_SIZE),
        "measure": lambda: firmware.launch_measure(handle),
        "finish": lambda: firmware.launch_finish(handle),
        "run": lambda: firmware.vmrun(handle),
        "send": lambda: firmware.send_start(handle),
    }
    if platform == "sev-es":
        commands["vmsa"] = lambda: firmware.launch_update_vmsa(handle, ROOT)
    after = {
        "new": {"activate": "active"},
        "active": {"update": "active", "measure": "measured"},
        "measured": {"finish": "running"},
        "running": {"run": "running", "send": "running"},
    }
    if "vmsa" in commands:
        after["active"]["vmsa"] = "active"
    return commands, after, "INVALID_GUEST_STATE|INACTIVE|ACTIVE"


def csv3(_: str) -> tuple[dict[str, Command], dict[str, dict[str, str]], str]:
    firmware = make("csv3")
    assert isinstance(firmware, Csv3Firmware)
    handle = firmware.launch_start(69, Entropy(1))
    fresh = iter(range(DATA, DATA << 8, PAGE_SIZE))

    def encrypt() -> None:
        place = next(fresh)
        if firmware.guest_status(handle)[2]:
            firmware.set_guest_private_memory(handle, place, PAGE_SIZE)
        firmware.launch_encrypt_data(handle, place - DATA, place, PAGE)

    def npt() -> None:
        place = next(fresh)
        firmware.context("UPDATE_NPT", handle)
        if firmware.guest_status(handle)[2]:
            firmware.set_guest_private_memory(handle, place, PAGE_SIZE)
        firmware.update_npt(handle, place - DATA, place, PAGE_SIZE)

    commands: dict[str, Command] = {
        "activate": lambda: firmware.activate(handle, 1),
        "encrypt": encrypt,
        "measure": lambda: firmware.launch_measure(handle),
        "finish": lambda: firmware.launch_finish(handle),
        "run": lambda: firmware.vmrun(handle),
        "npt": npt,
    }
    after = {
        "new": {"activate": "active"},
        "active": {"encrypt": "active", "measure": "measured"},
        "measured": {"finish": "running"},
        "running": {"run": "running", "npt": "running"},
    }
    return commands, after, "INVALID_GUEST_STATE|INACTIVE|ACTIVE"


def snp(_: str) -> tuple[dict[str, Command], dict[str, dict[str, str]], str]:
    firmware = make("snp")
    assert isinstance(firmware, SnpFirmware)
    with pytest.raises(InputError, match="INVALID_PLATFORM_STATE"):
        firmware.gctx_create(Entropy(1))
    firmware.snp_init()
    handle = firmware.gctx_create(Entropy(1))

    def update() -> None:
        firmware.rmp.assign(DATA, PAGE_SIZE, asid=1, guest=0, flags=2)
        firmware.launch_update(handle, PageType.NORMAL, DATA, PAGE_SIZE)

    def run() -> None:
        firmware.rmp.assign(ROOT, PAGE_SIZE, asid=1, guest=0, flags=5)
        firmware.vmrun(handle, ROOT)

    commands: dict[str, Command] = {
        "start": lambda: firmware.launch_start(handle, 0x30000),
        "activate": lambda: firmware.activate(handle, 1),
        "update": update,
        "finish": lambda: firmware.launch_finish(handle),
        "run": run,
    }
    after = {
        "new": {"start": "launch"},
        "launch": {"activate": "active"},
        "active": {"update": "active", "finish": "running"},
        "running": {"run": "running"},
    }
    return commands, after, "INVALID_GUEST_STATE|INACTIVE|ACTIVE"


def tdx(_: str) -> tuple[dict[str, Command], dict[str, dict[str, str]], str]:
    module = make("tdx")
    assert isinstance(module, TdxModule)
    module.mng_create(ROOT, 1, Entropy(1))
    fresh = iter(range(DATA, DATA << 8, PAGE_SIZE))

    def add() -> None:
        place = next(fresh)
        module.page_add(ROOT, place - DATA, place, PAGE)

    def late() -> None:
        place = next(fresh)
        module.page_aug(ROOT, place - DATA, place, PAGE_SIZE)
        module.page_accept(ROOT, place - DATA, PAGE_SIZE)

    commands: dict[str, Command] = {
        "key": lambda: module.mng_key_config(ROOT),
        "addcx": lambda: module.mng_addcx(ROOT, ROOT + PAGE_SIZE),
        "init": lambda: module.mng_init(ROOT, 1 << 28),
        "add": add,
        "cpu": lambda: module.vp_create(ROOT, next(fresh)),
        "finalize": lambda: module.mr_finalize(ROOT),
        "enter": lambda: module.vp_enter(ROOT),
        "late": late,
    }
    after = {
        "new": {"key": "keyed"},
        "keyed": {"addcx": "blank"},
        "blank": {"init": "filling"},
        "filling": {"add": "filling", "cpu": "peopled"},
        "peopled": {"add": "peopled", "cpu": "peopled", "finalize": "running"},
        "running": {"enter": "running", "late": "running"},
    }
    return commands, after, "TDX_[A-Z_]+"


def realm(platform: str) -> tuple[dict[str, Command], dict[str, dict[str, str]], str]:
    monitor = make(platform)
    assert isinstance(monitor, Monitor)
    fresh = iter(range(DATA, DATA << 8, PAGE_SIZE))
    monitor.delegate(ROOT)

    def data() -> None:
        place = next(fresh)
        monitor.delegate(place)
        monitor.data_create(ROOT, place, place - DATA, PAGE)

    def cpu() -> None:
        place = next(fresh)
        monitor.delegate(place)
        monitor.cpu_create(ROOT, place)

    commands: dict[str, Command] = {
        "create": lambda: monitor.create(ROOT, 1, Entropy(1)),
        "ripas": lambda: monitor.init_ripas(ROOT, 0, DATA << 8),
        "data": data,
        "cpu": cpu,
        "activate": lambda: monitor.activate(ROOT),
        "enter": lambda: monitor.enter(ROOT),
    }
    after = {
        "new": {"create": "bare"},
        "bare": {"ripas": "filling", "cpu": "bare", "activate": "running"},
        "filling": {
            "ripas": "filling",
            "data": "filling",
            "cpu": "filling",
            "activate": "running",
        },
        "running": {"enter": "running"},
    }
    return commands, after, "[RT]MI_ERROR_[A-Z_]+"


MACHINES = {
    "sev": sev,
    "sev-es": sev,
    "csv3": csv3,
    "snp": snp,
    "tdx": tdx,
    "cca": realm,
    "virtcca": realm,
}


@pytest.mark.parametrize("platform", MACHINES)
@settings(max_examples=40)
@given(data=st.data())
def test_commands_are_taken_in_their_order_and_refused_by_status_in_any_other(
    platform: str, data: st.DataObject
) -> None:
    commands, after, status = MACHINES[platform](platform)
    state = "new"
    for _ in range(data.draw(st.integers(0, 12))):
        right = sorted(after[state])
        name = data.draw(st.one_of(st.sampled_from(right), st.sampled_from(sorted(commands))))
        if name in after[state]:
            commands[name]()
            state = after[state][name]
            continue
        with pytest.raises(CtestbedError) as caught:
            commands[name]()
        assert re.search(rf"returns ({status})", caught.value.message)
        assert caught.value.code.startswith("CTB-M0")


@pytest.mark.parametrize(
    ("platform", "command", "status"),
    [
        ("tdx", lambda p: p.mng_create(ROOT + 8, 1, Entropy(1)), "TDX_OPERAND_INVALID"),
        ("tdx", lambda p: p.vp_enter(ROOT), "TDX_PAGE_METADATA_INCORRECT"),
        ("cca", lambda p: p.delegate(8), "RMI_ERROR_INPUT"),
        ("cca", lambda p: p.delegate(1 << 48), "RMI_ERROR_INPUT"),
        ("virtcca", lambda p: p.delegate(PAGE_SIZE, 5), "TMI_ERROR_INPUT"),
        ("sev", lambda p: p.launch_measure(9), "INVALID_GUEST"),
    ],
)
def test_bad_addresses_and_handles_name_the_status(
    platform: str, command: Callable[[Platform], object], status: str
) -> None:
    with pytest.raises(InputError, match=f"returns {status}: "):
        command(make(platform))


def test_a_page_is_given_once() -> None:
    module = make("tdx")
    assert isinstance(module, TdxModule)
    for root, hkid in ((ROOT, 1), (ROOT + 4 * PAGE_SIZE, 2)):
        module.mng_create(root, hkid, Entropy(hkid))
        module.mng_key_config(root)
        module.mng_addcx(root, root + PAGE_SIZE)
        module.mng_init(root, 0)
    module.page_add(ROOT, 0, DATA, PAGE)
    for root, guest, place, status in (
        (ROOT, PAGE_SIZE, DATA, "TDX_PAGE_METADATA_INCORRECT"),  # one frame, two addresses
        (ROOT + 4 * PAGE_SIZE, 0, DATA, "TDX_PAGE_METADATA_INCORRECT"),  # another TD's
        (ROOT, 0, DATA + PAGE_SIZE, "TDX_EPT_ENTRY_STATE_INCORRECT"),  # one address, two frames
    ):
        with pytest.raises(InputError, match=status) as caught:
            module.page_add(root, guest, place, PAGE)
        assert caught.value.code == "CTB-M074"
    monitor = make("cca")
    assert isinstance(monitor, Monitor)
    monitor.delegate(DATA)
    with pytest.raises(InputError, match="RMI_ERROR_INPUT: granule 0x200000 is DELEGATED"):
        monitor.delegate(DATA)
    firmware = make("csv3")
    assert isinstance(firmware, Csv3Firmware)
    handles = [firmware.launch_start(69, Entropy(1)) for _ in range(2)]
    for asid, handle in enumerate(handles, 1):
        firmware.activate(handle, asid)
    firmware.set_guest_private_memory(handles[0], DATA, PAGE_SIZE)
    with pytest.raises(InputError, match=r"INVALID_ADDRESS: page 0x200000 is taken"):
        firmware.set_guest_private_memory(handles[1], DATA, PAGE_SIZE)


def test_a_td_that_is_offered_an_accepted_page_again_is_told() -> None:
    module = make("tdx")
    assert isinstance(module, TdxModule)
    module.mng_create(ROOT, 1, Entropy(1))
    module.mng_key_config(ROOT)
    module.mng_addcx(ROOT, ROOT + PAGE_SIZE)
    module.mng_init(ROOT, 0)
    module.vp_create(ROOT, ROOT + 2 * PAGE_SIZE)
    module.page_add(ROOT, 0, DATA, PAGE)
    module.mr_finalize(ROOT)
    with pytest.raises(InputError, match="TDX_PAGE_ALREADY_ACCEPTED"):
        module.page_accept(ROOT, 0, PAGE_SIZE)
    with pytest.raises(InputError, match="not BLOCKED"):
        module.page_remove(ROOT, 0)
    module.range_block(ROOT, 0, PAGE_SIZE)
    blocked = module.controller.read(Requester(Path.GUEST_PRIVATE, 1, 0), DATA, 16)
    assert blocked.fault is not None
    assert blocked.fault.kind is FaultKind.EPT_VIOLATION
    module.page_remove(ROOT, 0)
    assert module.sept.owner(DATA) == 0
    module.page_aug(ROOT, 0, DATA, PAGE_SIZE)
    module.page_accept(ROOT, 0, PAGE_SIZE)
    fresh = module.controller.read(Requester(Path.GUEST_PRIVATE, 1, 0), DATA, 16)
    assert fresh.data == bytes(16)


PAGES = 6


class ReverseMapMachine(RuleBasedStateMachine):
    """Two guests, a host and a few pages, against a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        profile = load_profile("snp")
        self.controller = build_controller(profile, bytes(32))
        table = self.controller.ownership
        assert isinstance(table, ReverseMap)
        self.table = table
        for asid in (1, 2):
            self.controller.parts.keys.install(asid, bytes([asid]) * 16)
        self.rows = dict.fromkeys(range(PAGES), (0, 0, False))

    @rule(page=st.integers(0, PAGES - 1), asid=st.integers(0, 2), guest=st.integers(0, 3))
    def update(self, page: int, asid: int, guest: int) -> None:
        self.table.update(page * PAGE_SIZE, PAGE_SIZE, asid=asid, guest=guest * PAGE_SIZE)
        self.rows[page] = (asid, guest if asid else 0, False)

    @rule(
        page=st.integers(0, PAGES - 1),
        asid=st.integers(1, 2),
        guest=st.integers(0, 3),
        valid=st.booleans(),
    )
    def validate(self, page: int, asid: int, guest: int, valid: bool) -> None:
        def act() -> None:
            self.table.validate(
                page * PAGE_SIZE, PAGE_SIZE, asid=asid, guest=guest * PAGE_SIZE, valid=valid
            )

        if self.rows[page][:2] != (asid, guest):
            with pytest.raises(InputError, match="FAIL_INPUT"):
                act()
        elif self.rows[page][2] is valid:
            with pytest.raises(InputError, match="CF = 1"):
                act()
        else:
            act()
            self.rows[page] = (asid, guest, valid)

    @rule(page=st.integers(0, PAGES - 1), asid=st.integers(1, 2), guest=st.integers(0, 3))
    def access(self, page: int, asid: int, guest: int) -> None:
        who = Requester(Path.GUEST_PRIVATE, asid, guest * PAGE_SIZE)
        reply = self.controller.write(who, page * PAGE_SIZE, b"mine")
        owner, address, valid = self.rows[page]
        if (owner, address) != (asid, guest):
            assert reply.fault is not None
            assert reply.fault.kind is FaultKind.NESTED_PAGE_FAULT
        elif not valid:
            assert reply.fault is not None
            assert reply.fault.kind is FaultKind.VC
        else:
            assert self.controller.read(who, page * PAGE_SIZE, 4).data == b"mine"

    @invariant()
    def the_host_writes_its_own_pages_alone(self) -> None:
        for page, (owner, _, _) in self.rows.items():
            reply = self.controller.write(HOST, page * PAGE_SIZE + 2048, b"host")
            assert (reply.fault is None) is (owner == 0)


ReverseMapMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20)
TestReverseMap = ReverseMapMachine.TestCase
