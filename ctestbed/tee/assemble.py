"""A memory controller and its trusted part, made from a platform's profile and its switches."""

from collections.abc import Callable, Collection
from typing import Final

from ctestbed.crypto.address_tweak import Form
from ctestbed.crypto.sm3 import hkdf_sm3
from ctestbed.crypto.sm4_xts import Standard
from ctestbed.tee.controller.cache import WriteBackCache
from ctestbed.tee.controller.controller import MemoryController, Parts
from ctestbed.tee.controller.dram import Dram
from ctestbed.tee.controller.engine import (
    TWEAK_SEED_SIZE,
    ByAddress,
    CipherName,
    Engine,
    NoCipher,
    XTSByPage,
    tweak_of,
)
from ctestbed.tee.controller.integrity import Integrity
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.mapped import (
    GranuleTable,
    IsolationRegions,
    SecureEpt,
    SecurePartition,
)
from ctestbed.tee.controller.ownership import Ownership
from ctestbed.tee.controller.rmp import ReverseMap
from ctestbed.tee.firmware.base import Platform
from ctestbed.tee.firmware.csv import Csv3Firmware, CsvFirmware
from ctestbed.tee.firmware.plain import PlainHost
from ctestbed.tee.firmware.realms import RMM, TMM, VIRTCCA_PARAMETERS, Monitor
from ctestbed.tee.firmware.sev import SevFirmware
from ctestbed.tee.firmware.snp import SnpFirmware
from ctestbed.tee.firmware.tdx import TdxModule
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.platforms import Profile

_OWNERSHIPS: Final[dict[str, Callable[[], Ownership]]] = {
    "none": Ownership,
    "PAMT + Secure EPT": SecureEpt,
    "CSV3 isolation": IsolationRegions,
    "granule protection table": GranuleTable,
    "TrustZone partition": SecurePartition,
}


def build_controller(
    profile: Profile,
    secret: bytes,
    switches: Collection[Mitigation] = (),
    *,
    cache: int = 0,
    dram: Dram | None = None,
) -> MemoryController:
    """Put a platform's controller together.

    `secret` is the machine's own (32 bytes), from which tweak constants derive; `cache` is how
    many dirty lines its write-back cache holds, 0 for none.
    """
    memory = profile.memory
    engine = build_engine(profile, secret)
    shared = memory.key_scope.value == "world" and Mitigation.MEC not in switches
    return MemoryController(
        Parts(
            KeySlots(
                memory.key_slots.value, engine.key_size, memory.slot_name.value, shared=shared
            ),
            engine,
            fresh=Mitigation.FRESHNESS in switches,
            ownership=_ownership(memory.ownership.value, switches),
            integrity=_integrity(memory.integrity.value, switches),
            cache=WriteBackCache(cache),
            dram=dram or Dram(),
            hides_ciphertext=Mitigation.CIPHERTEXT_HIDING in switches,
            accepts_devices=memory.accepted_devices.value,
            invd_writes_back=Mitigation.FIXED_INVD in switches or profile.platform == "tdx",
        )
    )


def build_engine(profile: Profile, secret: bytes) -> Engine:
    """Make the memory encryption engine of a platform."""
    memory = profile.memory
    if not memory.encrypts:
        return NoCipher()
    cipher: CipherName = "SM4" if memory.cipher.value == "SM4" else "AES"
    size = 32 if memory.cipher.value == "AES-256" else 16
    if memory.mode.value == "XTS":
        standard: Standard = "gb" if memory.standard.value == "GB/T 17964-2021" else "ieee"
        return XTSByPage(cipher, 2 * size, standard)
    form: Form = "XE" if memory.mode.value == "XE" else "XEX"
    seed = hkdf_sm3(secret, b"address tweak constants", TWEAK_SEED_SIZE)
    return ByAddress(cipher, form, tweak_of(seed), size)


def build_platform(
    profile: Profile, controller: MemoryController, switches: Collection[Mitigation] = ()
) -> Platform:
    """Make the trusted part of a platform; one that signs reports needs its chip as well."""
    platform = profile.platform
    if platform == "snp":
        return SnpFirmware(
            controller,
            alias_check=Mitigation.ALIAS_CHECK in switches,
            restricted=Mitigation.RESTRICTED_INJECTION in switches,
        )
    if platform == "virtcca":
        return Monitor(controller, TMM, VIRTCCA_PARAMETERS)
    makers: dict[str, Callable[[MemoryController], Platform]] = {
        "sev": SevFirmware,
        "sev-es": lambda controller: SevFirmware(controller, es=True),
        "csv": CsvFirmware,
        "csv2": lambda controller: CsvFirmware(controller, es=True),
        "csv3": Csv3Firmware,
        "tdx": TdxModule,
        "cca": lambda controller: Monitor(controller, RMM),
        "plain": PlainHost,
    }
    return makers[platform](controller)


def _ownership(name: str, switches: Collection[Mitigation]) -> Ownership:
    if name == "RMP":
        return ReverseMap(guarded=Mitigation.FIXED_FIRMWARE in switches)
    return _OWNERSHIPS[name]()


def _integrity(name: str, switches: Collection[Mitigation]) -> Integrity:
    both = name == "MAC and owner bit"
    tree = Mitigation.COUNTER_TREE in switches
    mac = (both and Mitigation.LOGICAL_INTEGRITY not in switches) or tree
    return Integrity(mac=mac, owner=both, tree=tree)
