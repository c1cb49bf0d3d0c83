"""The register page that a virtual CPU starts from on SEV-ES and SEV-SNP: the VMSA.

Offsets are those of AMD's manual (volume 2, table B-4). VMMs differ in a few values, and so do
launch digests: those here are of QEMU, EC2 and GCE, as virtee/sev-snp-measure records them.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ctestbed.tee.vcpu import reset_page

VMM: TypeAlias = Literal["qemu", "ec2", "gce"]
BSP_RESET: Final = 0xFFFFFFF0
SNP_ACTIVE: Final = 1
EPYC_V4_SIGNATURE: Final = 0x800F12
"""CPUID signature of the virtual CPU model that QEMU starts with: family 17h."""


@dataclass(frozen=True, slots=True)
class _Quirks:
    code: int
    stack: int
    task: int
    mxcsr: int = 0
    fcw: int = 0
    pat: int = 0x7040600070406
    rdx: int = 0x600


_QUIRKS: Final[dict[VMM, _Quirks]] = {
    "qemu": _Quirks(0x9B, 0x93, 0x8B, 0x1F80, 0x37F),
    "ec2": _Quirks(0x9B, 0x92, 0x83),
    "gce": _Quirks(0x9B, 0x93, 0x8B, pat=0x70106),
}


def vmsa_page(
    reset: int = BSP_RESET,
    *,
    features: int = SNP_ACTIVE,
    signature: int = EPYC_V4_SIGNATURE,
    vmm: VMM = "qemu",
) -> bytes:
    """Return the 4096 bytes. `reset` is where the CPU starts; `features` is SEV_FEATURES."""
    quirks = _QUIRKS[vmm]
    rdx = signature if vmm == "qemu" else quirks.rdx
    code = 0x9A if vmm == "ec2" and reset == BSP_RESET else quirks.code
    segments = [
        (0x00, 0, 0x93, 0),
        (0x10, 0xF000, code, reset & 0xFFFF0000),
        (0x20, 0, quirks.stack, 0),
        (0x30, 0, 0x93, 0),
        (0x40, 0, 0x93, 0),
        (0x50, 0, 0x93, 0),
        (0x60, 0, 0, 0),
        (0x70, 0, 0x82, 0),
        (0x80, 0, 0, 0),
        (0x90, 0, quirks.task, 0),
    ]
    fields = []
    for offset, selector, attributes, base in segments:
        fields += [
            (offset, 2, selector),
            (offset + 2, 2, attributes),
            (offset + 4, 4, 0xFFFF),
            (offset + 8, 8, base),
        ]
    return reset_page(
        [
            *fields,
            (0x0D0, 8, 0x1000),  # EFER.SVME, which KVM sets
            (0x148, 8, 0x40),  # CR4.MCE
            (0x158, 8, 0x10),
            (0x160, 8, 0x400),
            (0x168, 8, 0xFFFF0FF0),
            (0x170, 8, 0x2),
            (0x178, 8, reset & 0xFFFF),
            (0x268, 8, quirks.pat),
            (0x310, 8, rdx),
            (0x3B0, 8, features),
            (0x3E8, 8, 1),
            (0x408, 4, quirks.mxcsr),
            (0x410, 2, quirks.fcw),
        ]
    )
