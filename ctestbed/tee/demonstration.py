"""A CSV VM on a seeded emulated machine, in memory: no state directory, the same bytes always."""

from dataclasses import dataclass
from typing import Final

from ctestbed.evidence.csv_report import dump_report
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.csv_vendor import make_chip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.images import DEMO_SIZE, demo_image, require_memory
from ctestbed.tee.machine import Machine
from ctestbed.tee.platforms import load_profile

DEFAULT_MEMORY: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class CSVDemonstration:
    """What a launch and an attestation gave. Views are guest page 0, as host and guest see it.

    `endorsements` is HRK || HSK || CEK; `root_certificate` is the HRK, which a verifier pins
    as an emulated root by `root_fingerprint`.
    """

    report: bytes
    endorsements: bytes
    root_certificate: bytes
    root_fingerprint: str
    report_data: bytes
    measurement: bytes
    image: bytes
    policy: int
    host_view: bytes
    guest_view: bytes


def demonstrate_csv(
    seed: int,
    *,
    memory: int = DEFAULT_MEMORY,
    image_size: int = DEMO_SIZE,
    report_data: bytes | None = None,
) -> CSVDemonstration:
    """Launch a VM of `memory` bytes on the built-in image and have it attested.

    `report_data` is 64 bytes; the seed gives it where it is left out, as a verifier's nonce.
    """
    require_memory(memory, PAGE_SIZE)
    entropy = Entropy(seed)
    chip = make_chip(entropy)
    machine = Machine(load_profile("csv"), chip)
    image = demo_image(min(image_size, memory))
    vm = machine.launch("demonstration", memory, image)
    nonce = entropy.draw("verifier's nonce", 64) if report_data is None else report_data
    report = machine.attest(vm, nonce)
    return CSVDemonstration(
        report=dump_report(report),
        endorsements=chip.endorsements,
        root_certificate=chip.root_certificate,
        root_fingerprint=chip.root_fingerprint,
        report_data=nonce,
        measurement=report.measure,
        image=image.padded,
        policy=report.policy,
        host_view=vm.host_view(0, PAGE_SIZE),
        guest_view=vm.memory.read(0, PAGE_SIZE),
    )
