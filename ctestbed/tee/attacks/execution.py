"""Experiments on launch, events, instructions, keys and firmware."""

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.tee.attacks.scene import (
    MEMORY,
    SECRET,
    SECRET_PAGE,
    Scene,
    Seen,
    detected,
    not_applicable,
    prevented,
    second_image,
    shown,
    succeeds,
)
from ctestbed.tee.controller.ownership import Page
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.firmware.sev import SevFirmware
from ctestbed.tee.hypervisor import Hypervisor
from ctestbed.tee.images import Image, demo_image
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.vcpu import VC_VECTOR, EventKind, Touch

SYSCALL_VECTOR = 0x80
DENIED, SYSCALL_RESULT = 0, 1
BITS = (1, 0, 1, 1, 0, 0, 1, 0)
NEW, OLD = 5, 2
X86_ES = ("sev-es", "csv2", "csv3", "snp")
X86 = ("sev", *X86_ES, "csv", "tdx", "plain")


def permute(scene: Scene) -> Seen:
    """Load the pages of an image at each other's addresses, and compare what is measured."""
    if scene.platform in {"plain", "virtcca"}:
        return not_applicable("nothing that a public text describes is measured page by page")
    image = second_image()
    pages = [
        image.content[start : start + PAGE_SIZE] for start in range(0, 4 * PAGE_SIZE, PAGE_SIZE)
    ]
    honest = _measured(scene, pages, [0, 1, 2, 3])
    moved = _measured(scene, pages, [0, 2, 1, 3])
    if honest == moved:
        return succeeds(f"two orders of pages, one digest: {honest.hex()[:16]}...")
    return prevented(
        f"the digest holds addresses: {moved.hex()[:16]}... for {honest.hex()[:16]}..."
    )


def _measured(scene: Scene, pages: list[bytes], places: list[int]) -> bytes:
    """Return the digest of pages that are given to the platform in order, each to its place."""
    machine = scene.machine()
    platform = machine.platform
    if not isinstance(platform, SevFirmware) or scene.platform == "csv3":
        order = sorted(range(len(pages)), key=lambda page: places[page])
        content = b"".join(pages[page] for page in order)
        return machine.launch("victim", MEMORY, Image("pages", content)).guest.measurement
    base = 1 << 32
    for page, place in zip(pages, places, strict=True):
        machine.controller.dram.write(base + place * PAGE_SIZE, page)
    handle = platform.launch_start(machine.profile.launch.default_policy.value, machine.entropy)
    platform.activate(handle, 1)
    for place in places:
        platform.launch_update_data(handle, base + place * PAGE_SIZE, PAGE_SIZE)
    return platform.launch_measure(handle)


def inject_interrupt(scene: Scene) -> Seen:
    """Have a victim run its system call handler by an external interrupt 0x80: Heckler."""
    if scene.platform not in X86:
        return not_applicable("Arm has no such vector")
    host, vm = scene.victim()
    cpu = vm.guest.vcpus[0]
    cpu.set_registers(rax=DENIED)  # what the victim's own check of a password gave
    try:
        host.inject(vm, EventKind.INTERRUPT, SYSCALL_VECTOR)
    except InputError as error:
        return prevented(error.message)
    for event in cpu.deliver():
        # The handler of system calls leaves its result in rax; a fixed kernel knows by the
        # interrupt controller that no instruction of its own raised this.
        if event.vector == SYSCALL_VECTOR and Mitigation.FIXED_KERNEL not in scene.switches:
            cpu.set_registers(rax=SYSCALL_RESULT)
    if cpu.registers()["rax"] != DENIED:
        return succeeds("rax is changed between a check and its branch: access is granted")
    return prevented("the kernel takes no external interrupt for a system call")


def inject_exception(scene: Scene) -> Seen:
    """Have a victim handle a #VC that did not happen: WeSee."""
    if scene.platform not in X86_ES:
        return not_applicable("guests of this platform have no #VC handler")
    host, vm = scene.victim()
    cpu = vm.guest.vcpus[0]
    word = int.from_bytes(SECRET[:8], "little")
    cpu.set_registers(rax=word)
    try:
        host.inject(vm, EventKind.EXCEPTION, VC_VECTOR)
    except InputError as error:
        return prevented(error.message)
    # The handler emulates an exit that did not happen: it puts rax where the host reads it.
    given = [cpu.registers()["rax"] for event in cpu.deliver() if event.vector == VC_VECTOR]
    if given == [word]:
        return succeeds(f"the handler gives a register away: {SECRET[:8].decode()}")
    return prevented("the handler gives nothing away")


def single_step(scene: Scene) -> Seen:
    """Stop a victim at each instruction, and note the pages it touches: SEV-Step."""
    host, vm = scene.victim()
    program = [Touch((7 if bit else 6) * PAGE_SIZE) for bit in BITS]
    trace = host.single_step(vm, program)
    bits = [int(entry.page == 7) for entry in trace]  # noqa: PLR2004 - the page above
    if bits == list(BITS):
        return succeeds(f"the secret bits {''.join(map(str, bits))}, from {len(trace)} steps")
    return prevented("the trace does not tell")


def foreign_slot(scene: Scene) -> Seen:
    """Run a VM of one's own under the victim's key slot: CROSSLINE."""
    host, vm = scene.victim()
    if not host.machine.controller.parts.keys.count:
        return not_applicable("there are no key slots")
    attacker = host.machine.launch("attacker", MEMORY, demo_image(PAGE_SIZE))
    frames = {5: vm.memory.place(SECRET_PAGE) // PAGE_SIZE}
    seen = host.enter_as(attacker, vm.guest.slot, frames).try_read(5 * PAGE_SIZE, len(SECRET))
    if seen.fault is not None:
        return prevented(str(seen.fault))
    if seen.data == SECRET:
        return succeeds(f"the attacker's VM reads the secret: {SECRET[:31].decode()}")
    return prevented(f"the attacker's VM reads {shown(seen.data)}")


def debug_launch(scene: Scene, *, checked: bool = False) -> Seen:
    """Launch the victim with debugging allowed, and have the platform decrypt it."""
    try:
        host, vm = scene.victim(allow_debug=True)
        data = host.debug_read(vm, SECRET_PAGE, len(SECRET))
    except CtestbedError as error:
        return prevented(error.message)
    if checked:
        return detected("the report shows that debugging is allowed, and a verifier refuses it")
    found = data == SECRET
    return succeeds(f"the secret: {SECRET[:31].decode()}") if found else prevented("garbage")


def roll_back(scene: Scene) -> Seen:
    """Load older firmware, and sign with what it can derive as if it were new."""
    if scene.platform in {"plain", "virtcca"}:
        return not_applicable("no public text describes versions that evidence depends on")
    host = Hypervisor(machine := scene.machine())
    machine.version.load(NEW)
    new = machine.version.signing_secret()
    if host.roll_back(OLD) == new:
        return succeeds("old firmware signs with the key of the new")
    return prevented("the key depends on the version")


def race_rmp(scene: Scene) -> Seen:
    """Write the reverse map table while it is set up: RMPocalypse."""
    if scene.platform != "snp":
        return not_applicable("the platform has no reverse map table")
    host = Hypervisor(scene.machine())
    met = host.race_rmp({0x5000: Page(owner=3, state=1, flags=1, guest=0)})
    if met == [None]:
        return succeeds("an entry of the attacker's stands in the table")
    return prevented("; ".join(str(reply.fault) for reply in met if reply is not None))
