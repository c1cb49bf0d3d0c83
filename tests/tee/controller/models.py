"""Controllers of every make, small, with two guests on each."""

from collections.abc import Callable
from dataclasses import dataclass

from ctestbed.tee.controller.cache import WriteBackCache
from ctestbed.tee.controller.controller import MemoryController, Parts
from ctestbed.tee.controller.dram import Dram
from ctestbed.tee.controller.engine import (
    TWEAK_SEED_SIZE,
    ByAddress,
    Engine,
    NoCipher,
    XTSByPage,
    tweak_of,
)
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.integrity import Integrity
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.mapped import (
    Granule,
    GranuleTable,
    IsolationRegions,
    MappedOwnership,
    MapState,
    SecureEpt,
    SecurePartition,
)
from ctestbed.tee.controller.ownership import Ownership
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.controller.rmp import ReverseMap

PAGES = 5
SIZE = PAGES * PAGE_SIZE
BASE = {1: 7 * PAGE_SIZE, 2: 20 * PAGE_SIZE}
FREE = 40 * PAGE_SIZE
TWEAK = tweak_of(bytes(i * 89 % 251 for i in range(TWEAK_SEED_SIZE)))

ENGINES: dict[str, Callable[[], Engine]] = {
    "none": NoCipher,
    "AES-XE": lambda: ByAddress("AES", "XE", TWEAK),
    "AES-XEX": lambda: ByAddress("AES", "XEX", TWEAK),
    "SM4-XEX": lambda: ByAddress("SM4", "XEX", TWEAK),
    "SM4-XTS": lambda: XTSByPage("SM4"),
    "AES-XTS": lambda: XTSByPage("AES"),
    "AES-256-XTS": lambda: XTSByPage("AES", 64),
    "fresh AES-XEX": lambda: ByAddress("AES", "XEX", TWEAK),
    "fresh SM4-XTS": lambda: XTSByPage("SM4"),
}
OWNERSHIPS: dict[str, Callable[[], Ownership]] = {
    "none": Ownership,
    "RMP": ReverseMap,
    "PAMT": SecureEpt,
    "isolation": IsolationRegions,
    "granules": GranuleTable,
    "TrustZone": SecurePartition,
}
INTEGRITIES: dict[str, Callable[[], Integrity]] = {
    "none": Integrity,
    "mac": lambda: Integrity(mac=True),
    "owner": lambda: Integrity(owner=True),
    "mac+owner": lambda: Integrity(mac=True, owner=True),
    "tree": lambda: Integrity(mac=True, tree=True),
}


@dataclass(frozen=True)
class Model:
    """Names of the parts, and how many lines the cache has."""

    engine: str = "AES-XEX"
    ownership: str = "none"
    integrity: str = "none"
    cache: int = 0

    def __str__(self) -> str:
        return f"{self.engine}/{self.ownership}/{self.integrity}/{self.cache}"


MODELS = [
    *(Model(engine=name) for name in ENGINES),
    *(Model(ownership=name) for name in OWNERSHIPS),
    *(Model(integrity=name) for name in INTEGRITIES),
    Model("none", "RMP"),
    Model("none", "TrustZone", "none", 8),
    Model("AES-XTS", "PAMT", "mac+owner"),
    Model("AES-XTS", "PAMT", "owner", 4),
    Model("fresh AES-XEX", "granules", "tree", 16),
    Model("SM4-XTS", "isolation", "none", 2),
    Model(cache=6),
]


def build(model: Model) -> MemoryController:
    engine = ENGINES[model.engine]()
    keys = KeySlots(4, engine.key_size)
    for slot in (1, 2):
        keys.install(slot, bytes((slot * 31 + i) % 256 for i in range(engine.key_size)))
    return MemoryController(
        Parts(
            keys,
            engine,
            fresh=model.engine.startswith("fresh"),
            ownership=OWNERSHIPS[model.ownership](),
            integrity=INTEGRITIES[model.integrity](),
            cache=WriteBackCache(model.cache),
            dram=Dram(1 << 20),
        )
    )


def give(controller: MemoryController, slot: int, guest: int, address: int, length: int) -> None:
    """Make pages a guest's own, as its platform would."""
    table = controller.ownership
    if isinstance(table, ReverseMap):
        table.update(address, length, asid=slot, guest=guest)
        table.validate(address, length, asid=slot, guest=guest)
    if isinstance(table, MappedOwnership):
        state = Granule.REALM if isinstance(table, GranuleTable) else 1
        table.table.fill(address, length, owner=slot, state=state, flags=0, guest=guest)
        table.map(slot, guest, address, length, MapState.MAPPED)


def make_guest(controller: MemoryController, slot: int = 1) -> GuestMemory:
    """Return a guest whose memory is its own and holds zeros."""
    give(controller, slot, 0, BASE[slot], SIZE)
    controller.encrypt_in_place(slot, BASE[slot], SIZE)
    return GuestMemory(controller, slot, BASE[slot], SIZE)
