"""Experiments on what lies in memory: read, moved, replayed, mapped twice, watched."""

from ctestbed.core.errors import CtestbedError
from ctestbed.tee.attacks.scene import (
    MEMORY,
    OTHER_PAGE,
    PUBLIC,
    PUBLIC_PAGE,
    SECRET,
    SECRET_PAGE,
    Scene,
    Seen,
    detected,
    not_applicable,
    prevented,
    refused,
    shown,
    succeeds,
)
from ctestbed.tee.controller.engine import ByAddress
from ctestbed.tee.controller.replies import PAGE_SIZE, ReplyKind
from ctestbed.tee.hypervisor import Hypervisor
from ctestbed.tee.images import demo_image
from ctestbed.tee.machine import VM

BLOCK = 16
LINE = 64
ALIAS = 1 << 33
TOGGLES = (0, 1, 1, 0, 1, 0, 0, 1)
"""The secret bits that a victim works on."""


def read(scene: Scene) -> Seen:
    """Read a private page through the host's own mapping."""
    host, vm = scene.victim()
    reply = host.read(vm, SECRET_PAGE, LINE)
    if reply.fault is not None:
        return prevented(str(reply.fault))
    if reply.data == SECRET:
        return succeeds(f"the secret: {SECRET[:31].decode()}")
    return prevented(f"{reply.kind}: {shown(reply.data)}...")


def _tweak_difference(host: Hypervisor, vm: VM, one: int, other: int) -> bytes | None:
    """Return the XOR of two addresses' tweaks: what published attacks solve, from the constants."""
    engine = host.machine.controller.parts.engine
    if not isinstance(engine, ByAddress):
        return None
    tweaks = [engine.tweak.expand(vm.memory.place(page), 1).tobytes() for page in (one, other)]
    return bytes(a ^ b for a, b in zip(*tweaks, strict=True))


def _moved(host: Hypervisor, vm: VM, source: int, target: int) -> tuple[Seen | None, bytes]:
    """Move a ciphertext block, set right for its tweak; return a refusal, and the difference."""
    difference = _tweak_difference(host, vm, source, target)
    if difference is None:
        return prevented("the tweak is encrypted: there are no constants to solve"), b""
    reply = host.read(vm, source, BLOCK)
    if reply.fault is not None:
        return prevented(str(reply.fault)), b""
    engine = host.machine.controller.parts.engine
    both = isinstance(engine, ByAddress) and engine.form == "XEX"
    block = bytes(a ^ b for a, b in zip(reply.data, difference, strict=True))
    stopped = refused(host.write(vm, target, block if both else reply.data))
    return (prevented(stopped) if stopped else None), difference


def transplant(scene: Scene) -> Seen:
    """Move a known ciphertext block to another address, with solved tweak constants."""
    host, vm = scene.victim()
    if not host.machine.profile.memory.encrypts:
        return _overwrite(host, vm)
    stopped, difference = _moved(host, vm, PUBLIC_PAGE, SECRET_PAGE)
    if stopped is not None and not difference:
        raw = host.move(vm, PUBLIC_PAGE, SECRET_PAGE, BLOCK)
        if raw.fault is not None:
            return prevented(str(raw.fault))
    elif stopped is not None:
        return stopped
    seen = vm.memory.try_read(SECRET_PAGE, BLOCK)
    if seen.fault is not None:
        return detected(str(seen.fault))
    wanted = bytes(a ^ b for a, b in zip(PUBLIC[:BLOCK], difference, strict=False))
    if seen.data == wanted and difference:
        return succeeds("the victim reads the chosen block in place of its own")
    return prevented(f"the victim reads garbage: {shown(seen.data)}")


def _overwrite(host: Hypervisor, vm: VM) -> Seen:
    stopped = refused(host.move(vm, PUBLIC_PAGE, SECRET_PAGE, BLOCK))
    if stopped:
        return prevented(stopped)
    seen = vm.memory.try_read(SECRET_PAGE, BLOCK)
    done = seen.data == PUBLIC[:BLOCK]
    return succeeds("the victim reads the moved block") if done else prevented("nothing moved")


def remap(scene: Scene) -> Seen:
    """Lead the page that a victim shows to anybody to the frame of its secret: SEVered."""
    host, vm = scene.victim()
    host.remap(vm, PUBLIC_PAGE, SECRET_PAGE)
    seen = vm.memory.try_read(PUBLIC_PAGE, LINE)
    if seen.fault is not None:
        return prevented(str(seen.fault))
    if seen.data == SECRET:
        return succeeds("the victim shows its secret")
    return prevented(f"the victim shows {shown(seen.data)}")


def replay(scene: Scene) -> Seen:
    """Put the old ciphertext of a page back."""
    host, vm = scene.victim()
    old = host.read(vm, PUBLIC_PAGE, LINE)
    if old.fault is not None:
        return prevented(str(old.fault))
    vm.memory.write(PUBLIC_PAGE, bytes(LINE))
    return _after_write(host, vm, old.data, PUBLIC)


def garbage(scene: Scene) -> Seen:
    """Overwrite a private line with other bytes."""
    host, vm = scene.victim()
    return _after_write(host, vm, b"\xa5" * LINE, None)


def _after_write(host: Hypervisor, vm: VM, raw: bytes, wanted: bytes | None) -> Seen:
    before = vm.memory.try_read(PUBLIC_PAGE, LINE).data
    stopped = refused(host.write(vm, PUBLIC_PAGE, raw))
    seen = vm.memory.try_read(PUBLIC_PAGE, LINE)
    if seen.fault is not None:
        return detected(str(seen.fault))
    if seen.data == before:
        return prevented(stopped or "the victim reads what it wrote")
    if wanted is not None and seen.data == wanted:
        return succeeds("the victim reads its old data")
    return succeeds(f"the victim reads {shown(seen.data)}, and nothing tells it")


def double_map(scene: Scene) -> Seen:
    """Lead two guest pages to one frame."""
    host, vm = scene.victim()
    vm.memory.write(OTHER_PAGE, b"x" * LINE)
    host.remap(vm, OTHER_PAGE, PUBLIC_PAGE)
    written = vm.memory.try_write(OTHER_PAGE, b"y" * LINE)
    if written.fault is not None:
        return prevented(str(written.fault))
    seen = vm.memory.try_read(PUBLIC_PAGE, LINE)
    if seen.fault is not None:
        return detected(str(seen.fault))
    if seen.data == b"y" * LINE:
        return succeeds("a write to one page changes another")
    return prevented("the pages stay apart")


def _watch(host: Hypervisor, vm: VM, look: object) -> list[bytes] | str:
    seen: list[bytes] = []
    for bit in TOGGLES:
        vm.memory.write(SECRET_PAGE, bytes([bit]) * LINE)
        if look == "host":
            reply = host.read(vm, SECRET_PAGE, LINE)
            if reply.fault is not None:
                return str(reply.fault)
            if reply.kind is ReplyKind.PATTERN:
                return f"{reply.kind}: {shown(reply.data)}"
            seen.append(reply.data)
        else:
            seen.append(bytes(host.probe(vm, SECRET_PAGE, LINE).data))
    return seen


def _side_channel(scene: Scene, look: str) -> Seen:
    host, vm = scene.victim()
    seen = _watch(host, vm, look)
    if isinstance(seen, str):
        return prevented(seen)
    bits = [int(line != seen[0]) for line in seen]
    if bits == list(TOGGLES):
        return succeeds(f"the secret bits {''.join(map(str, bits))}, from lines that repeat")
    return prevented("no line repeats")


def watch_by_host(scene: Scene) -> Seen:
    """Tell a victim's values apart by the ciphertext that the host reads: CipherLeaks."""
    return _side_channel(scene, "host")


def watch_on_bus(scene: Scene) -> Seen:
    """Tell them apart by what passes on the DIMM's pins."""
    return _side_channel(scene, "bus")


def static_alias(scene: Scene) -> Seen:
    """Have the DIMM lie about its size from boot on, and reach private lines by another address."""
    machine = scene.machine()
    host = Hypervisor(machine)
    host.mask_lines(ALIAS)
    try:
        vm = machine.launch("victim", MEMORY, demo_image(8 * PAGE_SIZE))
    except CtestbedError as error:
        return prevented(error.message)
    vm.memory.write(PUBLIC_PAGE, PUBLIC)
    return _through_alias(host, vm, switched=False)


def switched_alias(scene: Scene) -> Seen:
    """Switch an address line on the bus after boot: Battering RAM."""
    host, vm = scene.victim()
    return _through_alias(host, vm, switched=True)


def _through_alias(host: Hypervisor, vm: VM, *, switched: bool) -> Seen:
    """Record a line with all that lies beside it by its other address, and put it back later."""
    dram, place = host.machine.controller.dram, vm.memory.place(PUBLIC_PAGE) ^ ALIAS

    def masked(mask: int) -> None:
        if switched:
            host.mask_lines(mask)

    masked(ALIAS)
    old = dram.capture(place, LINE)
    masked(0)
    vm.memory.write(PUBLIC_PAGE, bytes(LINE))
    masked(ALIAS)
    dram.restore(place, old)
    masked(0)
    seen = vm.memory.try_read(PUBLIC_PAGE, LINE)
    if seen.fault is not None:
        return detected(str(seen.fault))
    if seen.data == PUBLIC:
        return succeeds("the victim reads its old data, by an address that no table guards")
    return prevented("the victim reads what it wrote")


def drop_lines(scene: Scene) -> Seen:
    """Drop what a victim wrote and the cache still holds: CacheWarp."""
    if scene.platform in {"cca", "virtcca"}:
        return not_applicable("Arm has no instruction that drops all dirty lines")
    host, vm = scene.victim(cache=64)
    host.wbinvd()
    vm.memory.write(PUBLIC_PAGE, bytes(LINE))
    dropped = host.invd()
    seen = vm.memory.try_read(PUBLIC_PAGE, LINE)
    if seen.fault is not None:
        return detected(str(seen.fault))
    if seen.data == PUBLIC:
        return succeeds(f"{len(dropped)} lines dropped: the victim reads what it had overwritten")
    return prevented("INVD writes lines back, or is refused")


def shared_buffer(scene: Scene) -> Seen:
    """Have a victim decrypt for the host: swap what it is about to copy to a shared buffer."""
    host, vm = scene.victim()
    if not host.machine.profile.memory.encrypts:
        return not_applicable("private pages are in clear for whoever reaches them")
    stopped, difference = _moved(host, vm, SECRET_PAGE, PUBLIC_PAGE)
    if stopped is not None:
        return stopped
    copied = vm.memory.try_read(PUBLIC_PAGE, BLOCK)  # the victim's bounce buffer takes this
    if copied.fault is not None:
        return detected(str(copied.fault))
    plain = bytes(a ^ b for a, b in zip(copied.data, difference, strict=True))
    if plain == SECRET[:BLOCK]:
        return succeeds(f"the buffer gives the secret away: {plain.decode()}...")
    return prevented(f"the buffer holds garbage: {shown(plain)}")
