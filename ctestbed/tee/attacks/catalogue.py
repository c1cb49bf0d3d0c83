"""The attacks by name, what switches matter to each, and the experiments."""

from dataclasses import dataclass
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean
from ctestbed.tee.attacks import execution, memory
from ctestbed.tee.attacks.scene import Experiment, Scene, Seen
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.platforms import load_profile

REPORT_CHECKED: Final = "report-checked"
"""No switch of a machine: a verifier that refuses evidence of a debuggable guest."""


DEBUG_BIT_IN_REPORT: Final = ("csv", "csv2", "csv3", "snp", "tdx", "cca")
"""Platforms whose evidence shows that a guest may be debugged."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: its name, what it does, and the mitigations that it is also run against."""

    name: str
    title: str
    run: Experiment
    against: tuple[Mitigation, ...] = ()

    def variants(self, platform: str) -> list[tuple[Mitigation, ...]]:
        """Return the sets of switches to run it with on a platform: none, and each that matters."""
        known = load_profile(platform).switches
        return [(), *((switch,) for switch in self.against if switch in known)]


_M: Final = Mitigation

ATTACKS: Final = (
    Attack("read", "read private memory as host", memory.read, (_M.CIPHERTEXT_HIDING,)),
    Attack("transplant", "move ciphertext with solved tweak constants", memory.transplant,
           (_M.COUNTER_TREE, _M.FRESHNESS)),
    Attack("remap", "lead a guest page to another frame", memory.remap),
    Attack("replay", "put old ciphertext back by software", memory.replay, (_M.COUNTER_TREE,)),
    Attack("garbage", "overwrite ciphertext with other bytes", memory.garbage, (_M.COUNTER_TREE,)),
    Attack("double-map", "lead two guest pages to one frame", memory.double_map),
    Attack("permute", "permute pages before they are measured", execution.permute),
    Attack("ciphertext-host", "tell values apart by ciphertext read as host", memory.watch_by_host,
           (_M.CIPHERTEXT_HIDING, _M.FRESHNESS)),
    Attack("ciphertext-bus", "tell values apart by ciphertext on the bus", memory.watch_on_bus,
           (_M.CIPHERTEXT_HIDING, _M.FRESHNESS)),
    Attack("static-alias", "a DIMM that lies about its size from boot on", memory.static_alias,
           (_M.ALIAS_CHECK, _M.COUNTER_TREE)),
    Attack("switched-alias", "an interposer that switches an address line", memory.switched_alias,
           (_M.ALIAS_CHECK, _M.COUNTER_TREE)),
    Attack("invd", "drop dirty lines of the cache", memory.drop_lines, (_M.FIXED_INVD,)),
    Attack("inject-interrupt", "inject interrupt 0x80", execution.inject_interrupt,
           (_M.RESTRICTED_INJECTION, _M.FIXED_KERNEL)),
    Attack("inject-vc", "inject the exception #VC", execution.inject_exception,
           (_M.RESTRICTED_INJECTION,)),
    Attack("single-step", "stop at each instruction and note pages", execution.single_step),
    Attack("foreign-slot", "run under another VM's key slot", execution.foreign_slot),
    Attack("debug-launch", "launch with debugging allowed", execution.debug_launch),
    Attack("rollback", "load older firmware", execution.roll_back),
    Attack("shared-buffer", "use a shared buffer as decryption oracle", memory.shared_buffer),
    Attack("rmp-setup", "write the reverse map table during set-up", execution.race_rmp,
           (_M.FIXED_FIRMWARE,)),
)  # fmt: skip


def find_attack(name: str) -> Attack:
    """Return an attack by name.

    Raises:
        InputError: there is none (`CTB-M120`).
    """
    found = {attack.name: attack for attack in ATTACKS}
    if name not in found:
        raise InputError(
            "CTB-M120", f"there is no attack {name!r}", hint=did_you_mean(name, list(found))
        )
    return found[name]


def play(attack: Attack, platform: str, switches: tuple[Mitigation, ...]) -> Seen:
    """Run an attack on a machine of its own."""
    return attack.run(Scene(platform, switches))
