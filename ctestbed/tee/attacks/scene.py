"""What an experiment plays on: a machine, its hostile host, a victim, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ctestbed.tee.controller.replies import PAGE_SIZE, Reply
from ctestbed.tee.csv_vendor import make_chip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.hypervisor import Hypervisor
from ctestbed.tee.images import Image, demo_image
from ctestbed.tee.machine import VM, Machine
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.platforms import load_profile

MEMORY: Final = 16 * PAGE_SIZE
SECRET: Final = b"the victim's secret: 42 42 42 42" * 2
"""One cache line."""
PUBLIC: Final = b"what the victim shows to anybody" * 2
SECRET_PAGE, PUBLIC_PAGE, OTHER_PAGE = 2 * PAGE_SIZE, 3 * PAGE_SIZE, 4 * PAGE_SIZE
_SEED: Final = 5
"""The machines are emulated and the same at each run, so that their answers are too."""


class Outcome(StrEnum):
    """What an attack comes to."""

    SUCCEEDS = "succeeds"
    PREVENTED = "prevented"
    DETECTED = "detected"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Seen:
    """An outcome, and what the attacker got or met."""

    outcome: Outcome
    observed: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A platform with switches; every experiment powers on a machine of its own."""

    platform: str
    switches: tuple[Mitigation, ...] = ()

    def machine(self, *, cache: int = 0) -> Machine:
        """Power on a machine."""
        entropy = Entropy(_SEED)
        chip = make_chip(entropy) if self.platform == "csv" else None
        return Machine(
            load_profile(self.platform), chip, entropy=entropy, switches=self.switches,
            secret=bytes(range(32)), cache=cache,
        )  # fmt: skip

    def victim(self, *, cache: int = 0, allow_debug: bool = False) -> tuple[Hypervisor, VM]:
        """Power on a machine with a victim, whose secret and public pages hold what they should."""
        machine = self.machine(cache=cache)
        vm = machine.launch("victim", MEMORY, demo_image(8 * PAGE_SIZE), allow_debug=allow_debug)
        vm.memory.write(SECRET_PAGE, SECRET)
        vm.memory.write(PUBLIC_PAGE, PUBLIC)
        return Hypervisor(machine), vm


Experiment = Callable[[Scene], Seen]


def succeeds(observed: str) -> Seen:
    """Return that the attacker got something."""
    return Seen(Outcome.SUCCEEDS, observed)


def prevented(observed: str) -> Seen:
    """Return that the attacker was stopped, or got nothing."""
    return Seen(Outcome.PREVENTED, observed)


def detected(observed: str) -> Seen:
    """Return that the victim's side noticed before data was used."""
    return Seen(Outcome.DETECTED, observed)


def not_applicable(why: str) -> Seen:
    """Return that the platform has nothing to attack so."""
    return Seen(Outcome.NOT_APPLICABLE, why)


def shown(data: bytes) -> str:
    """Render the start of some bytes: as text if they are, else as hex."""
    part = data[:16]
    return part.decode("ascii") if part.isascii() and bytes(part).isalnum() else part.hex()


def refused(reply: Reply) -> str | None:
    """Return the fault of a reply, or None."""
    return None if reply.fault is None else str(reply.fault)


def second_image() -> Image:
    """Return an image of four pages that differ."""
    pages = [bytes([65 + page]) * PAGE_SIZE for page in range(4)]
    return Image("four pages", b"".join(pages))
