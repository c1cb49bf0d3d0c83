"""CCA and virtCCA: a monitor that owns stage-2 tables, granules given to it, realms on them.

The host delegates granules, creates a realm, has its tables' range set to RAM, copies and
measures its image granule by granule, creates virtual CPUs and activates it. virtCCA's TMM is the
same in kind, with names, sizes and statuses of its own, and TrustZone instead of granules.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

from typing_extensions import override

from ctestbed.core.errors import CtestbedError
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.mapped import Granule, GranuleTable, MappedOwnership, MapState
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import (
    ALIGNMENT,
    ORDER,
    OWNED,
    Guest,
    Plan,
    Platform,
    refuse,
    refuse_policy,
    require_image,
)
from ctestbed.tee.firmware.rim import Parameters, Rim, rec_parameters, tec_parameters
from ctestbed.tee.vcpu import ARM, VCPU, AreaKind, EventFilter

LIFECYCLE_SECURED: Final = 0x3000
LIFECYCLE_DEBUG: Final = 0x5000
CCA_PARAMETERS: Final = Parameters(ipa_bits=48, algorithm="sha-256")
VIRTCCA_PARAMETERS: Final = Parameters(flags=4, ipa_bits=40, pmu_counters=1)


class RealmState(StrEnum):
    """How far a realm has come."""

    NEW = "REALM_NEW"
    ACTIVE = "REALM_ACTIVE"


class GranuleState(IntEnum):
    """What the monitor uses a granule for."""

    UNDELEGATED = 0
    DELEGATED = 1
    DESCRIPTOR = 2
    CPU = 3
    DATA = 4


@dataclass(frozen=True, slots=True)
class Names:
    """The commands and statuses of a monitor."""

    delegate: str
    undelegate: str
    create: str
    ripas: str
    data: str
    unknown: str
    cpu: str
    activate: str
    enter: str
    destroy: str
    bad_input: str
    bad_realm: str
    bad_table: str
    in_use: str


RMM: Final = Names(
    delegate="RMI_GRANULE_DELEGATE",
    undelegate="RMI_GRANULE_UNDELEGATE",
    create="RMI_REALM_CREATE",
    ripas="RMI_RTT_INIT_RIPAS",
    data="RMI_DATA_CREATE",
    unknown="RMI_DATA_CREATE_UNKNOWN",
    cpu="RMI_REC_CREATE",
    activate="RMI_REALM_ACTIVATE",
    enter="RMI_REC_ENTER",
    destroy="RMI_REALM_DESTROY",
    bad_input="RMI_ERROR_INPUT",
    bad_realm="RMI_ERROR_REALM",
    bad_table="RMI_ERROR_RTT",
    in_use="RMI_ERROR_INPUT",
)
TMM: Final = Names(
    delegate="TMI_MEM_ALLOC",
    undelegate="TMI_MEM_FREE",
    create="TMI_CVM_CREATE",
    ripas="TMI_TTT_CREATE",
    data="TMI_DATA_CREATE",
    unknown="TMI_TTT_MAP_RANGE",
    cpu="TMI_TEC_CREATE",
    activate="TMI_CVM_ACTIVATE",
    enter="TMI_TEC_ENTER",
    destroy="TMI_CVM_DESTROY",
    bad_input="TMI_ERROR_INPUT",
    bad_realm="TMI_ERROR_CVM_STATE",
    bad_table="TMI_ERROR_TTT_ENTRY",
    in_use="TMI_ERROR_IN_USE",
)


@dataclass(slots=True)
class Realm:
    """What the monitor keeps of a realm. `descriptor` is the address of its RD granule."""

    descriptor: int
    slot: int
    rim: Rim
    entropy: Entropy
    state: RealmState = RealmState.NEW
    ram: list[tuple[int, int]] = field(default_factory=list)
    cpus: int = 0
    measurement: bytes = b""


class Monitor(Platform):
    """The realm management monitor (`names` RMM), or virtCCA's TMM."""

    digest_size = 32
    save_pages = 1

    def __init__(
        self,
        controller: MemoryController,
        names: Names = RMM,
        parameters: Parameters = CCA_PARAMETERS,
    ) -> None:
        """Take charge of a controller with a granule table or a secure partition."""
        super().__init__(controller)
        self.names = names
        self.parameters = parameters
        self._realms: dict[int, Realm] = {}

    @property
    def table(self) -> MappedOwnership:
        """The physical table, and the realms' own."""
        table = self.controller.ownership
        if not isinstance(table, MappedOwnership):
            raise TypeError("a monitor needs a table of its own")
        return table

    def delegate(self, address: int, length: int = PAGE_SIZE) -> None:
        """Give granules to the monitor: the host cannot reach them from here on."""
        self._require_aligned(self.names.delegate, address, length)
        self.require_memory(address, length, self.names.bad_input, self.names.delegate)
        self._require_state(self.names.delegate, address, length, GranuleState.UNDELEGATED)
        self._fill(address, length, GranuleState.DELEGATED)

    def undelegate(self, address: int, length: int = PAGE_SIZE) -> None:
        """Give unused granules back to the host, wiped."""
        self._require_state(self.names.undelegate, address, length, GranuleState.DELEGATED)
        self.controller.forget(address, length)
        self.table.table.fill(address, length, owner=0, state=0, flags=0, guest=0)

    def create(self, descriptor: int, slot: int, entropy: Entropy) -> None:
        """Make a realm in a delegated granule, under a memory encryption context of its own."""
        command = self.names.create
        self._require_state(command, descriptor, PAGE_SIZE, GranuleState.DELEGATED)
        self.install_key(slot, entropy, self.names.in_use, command)
        self._fill(descriptor, PAGE_SIZE, GranuleState.DESCRIPTOR, slot)
        self._realms[descriptor] = Realm(descriptor, slot, Rim(self.parameters), entropy)

    def init_ripas(self, descriptor: int, base: int, top: int) -> None:
        """Set a range of a new realm to RAM; CCA measures that, virtCCA does not."""
        realm = self.realm(self.names.ripas, descriptor, RealmState.NEW)
        self._require_aligned(self.names.ripas, base, top - base)
        realm.ram.append((base, top))
        if self.names is RMM:
            realm.rim.ripas(base, top)

    def data_create(self, descriptor: int, granule: int, guest: int, source: BytesLike) -> None:
        """Copy and measure whole granules into a new realm."""
        realm = self.realm(self.names.data, descriptor, RealmState.NEW)
        self._map(self.names.data, realm, granule, guest, len(source))
        self.controller.store_private(realm.slot, granule, source)
        realm.rim.data(guest, source)

    def data_create_unknown(self, descriptor: int, granule: int, guest: int, length: int) -> None:
        """Give a realm wiped granules without content that anybody knows."""
        realm = self.realm(self.names.unknown, descriptor)
        self._map(self.names.unknown, realm, granule, guest, length)
        self.controller.store_private(realm.slot, granule, bytes(length))

    def cpu_create(self, descriptor: int, granule: int, entry: int = 0) -> bytes:
        """Make a virtual CPU of a new realm, and return its measured parameters."""
        realm = self.realm(self.names.cpu, descriptor, RealmState.NEW)
        self._require_state(self.names.cpu, granule, PAGE_SIZE, GranuleState.DELEGATED)
        first = realm.cpus == 0
        make = rec_parameters if self.names is RMM else tec_parameters
        parameters = make(entry if first else 0, runnable=first)
        realm.rim.cpu(parameters)
        realm.cpus += 1
        self._fill(granule, PAGE_SIZE, GranuleState.CPU, realm.slot)
        page = rec_parameters(entry if first else 0, runnable=first)
        self.controller.store_private(realm.slot, granule, page)
        return parameters

    def activate(self, descriptor: int) -> bytes:
        """Close the measurement, let the realm run, and return the measurement."""
        realm = self.realm(self.names.activate, descriptor, RealmState.NEW)
        realm.state, realm.measurement = RealmState.ACTIVE, realm.rim.value
        return realm.measurement

    def enter(self, descriptor: int) -> Realm:
        """Run a realm, which must be active."""
        return self.realm(self.names.enter, descriptor, RealmState.ACTIVE)

    def destroy_realm(self, descriptor: int) -> None:
        """Tear a realm down: wipe and give back all its granules, forget its key."""
        realm = self.realm(self.names.destroy, descriptor)
        for address, length in self.table.table.owned(realm.slot):
            self._fill(address, length, GranuleState.DELEGATED)
            self.undelegate(address, length)
        self.table.maps.pop(realm.slot, None)
        self.keys.erase(realm.slot)
        del self._realms[descriptor]

    def realm(self, command: str, descriptor: int, needed: RealmState | None = None) -> Realm:
        """Return a realm, if it is in the state that a command needs."""
        realm = self._realms.get(descriptor)
        if realm is None:
            raise refuse(command, self.names.bad_input, f"{descriptor:#x} is no realm", code=ORDER)
        if needed is not None and realm.state is not needed:
            raise refuse(
                command,
                self.names.bad_realm,
                f"the realm is {realm.state}, not {needed}",
                code=ORDER,
                hint="a realm is created, filled, given CPUs, and then activated",
            )
        return realm

    @override
    def launch(self, plan: Plan) -> Guest:
        require_image(plan, self.names.bad_input, self.names.data)
        slot = self.choose_slot(plan, self.names.in_use, self.names.create)
        descriptor = plan.base + plan.memory
        self.delegate(descriptor, (1 + plan.vcpus) * PAGE_SIZE)
        try:
            self.create(descriptor, slot, plan.entropy)
        except CtestbedError:
            self.undelegate(descriptor, (1 + plan.vcpus) * PAGE_SIZE)
            raise
        self.init_ripas(descriptor, 0, plan.memory)
        guest = self._guest(plan, slot, descriptor)
        for start, data in plan.pieces():
            self.delegate(plan.base + start, len(data))
            self.data_create(descriptor, plan.base + start, start, data)
        for cpu in guest.vcpus:
            self.cpu_create(descriptor, cpu.area)
            cpu.trust()
        guest.measurement = self.activate(descriptor)
        guest.memory.take(0, plan.pages_size)
        return guest

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        slot, descriptor = plan.slot or 0, plan.base + plan.memory
        self.keys.install(slot, key)
        realm = Realm(descriptor, slot, Rim(self.parameters), plan.entropy, RealmState.ACTIVE)
        realm.ram, realm.cpus, realm.measurement = [(0, plan.memory)], plan.vcpus, measurement
        self._realms[descriptor] = realm
        self._fill(descriptor, PAGE_SIZE, GranuleState.DESCRIPTOR, slot)
        guest = self._guest(plan, slot, descriptor)
        guest.measurement = measurement
        for cpu in guest.vcpus:
            self._fill(cpu.area, PAGE_SIZE, GranuleState.CPU, slot)
        return guest

    @override
    def restore_pages(self, guest: Guest, address: int, length: int) -> None:
        place = guest.memory.base + address
        self._fill(place, length, GranuleState.DATA, guest.slot, address)
        self.table.map(guest.slot, address, place, length, MapState.MAPPED)
        guest.memory.take(address, length)

    @override
    def destroy(self, guest: Guest) -> None:
        self.destroy_realm(guest.memory.base + guest.memory.size)

    @override
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        if guest.policy != LIFECYCLE_DEBUG:
            raise refuse_policy("external debug", "a fault", "the platform's lifecycle is secured")
        place = guest.memory.place(address)
        return self.controller.load_private(guest.slot, place, length).require()

    def accept(self, guest: GuestMemory, descriptor: int, address: int, length: int) -> None:
        """Give wiped granules to a running realm, whose range is RAM already."""
        for first, place, count in guest.runs(address, length):
            self.delegate(place, count)
            for start in range(0, count, _WIPE):
                part = min(_WIPE, count - start)
                self.data_create_unknown(descriptor, place + start, first + start, part)

    def _guest(self, plan: Plan, slot: int, descriptor: int) -> Guest:
        memory = GuestMemory(self.controller, slot, plan.base, plan.memory)
        memory.accept = lambda address, length: self.accept(memory, descriptor, address, length)
        cpus = [
            VCPU(
                index,
                self.controller,
                slot,
                descriptor + (1 + index) * PAGE_SIZE,
                AreaKind.OWNED,
                ARM,
                EventFilter(exceptions=False),
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, slot, plan.policy, b"", memory, cpus, self.save_pages)

    def _map(self, command: str, realm: Realm, granule: int, guest: int, length: int) -> None:
        self._require_aligned(command, granule, length)
        self._require_aligned(command, guest, length)
        if not any(base <= guest and guest + length <= top for base, top in realm.ram):
            raise refuse(
                command, self.names.bad_table, f"{guest:#x} is not set to RAM", code="CTB-M075"
            )
        self._require_state(command, granule, length, GranuleState.DELEGATED)
        bad = self.table.first_not(realm.slot, guest, length, MapState.FREE)
        if bad is not None:
            raise refuse(
                command, self.names.bad_table, f"guest page {bad:#x} is mapped already", code=OWNED
            )
        self._fill(granule, length, GranuleState.DATA, realm.slot, guest)
        self.table.map(realm.slot, guest, granule, length, MapState.MAPPED)

    def _require_state(self, command: str, address: int, length: int, needed: GranuleState) -> None:
        self._require_aligned(command, address, length)
        bad = self.table.table.first_where(
            address, length, lambda _, rows: rows["flags"] != int(needed)
        )
        if bad is not None:
            state = GranuleState(self.table.table.page(bad).flags).name
            raise refuse(
                command,
                self.names.bad_input,
                f"granule {bad:#x} is {state}, not {needed.name}",
                code=OWNED,
            )

    def _require_aligned(self, command: str, address: int, length: int) -> None:
        if address % PAGE_SIZE or length % PAGE_SIZE or length <= 0 or address < 0:
            raise refuse(
                command,
                self.names.bad_input,
                f"{length} bytes at {address:#x} are not whole granules",
                code=ALIGNMENT,
            )

    def _fill(
        self, address: int, length: int, use: GranuleState, slot: int = 0, guest: int = 0
    ) -> None:
        space = Granule.REALM if isinstance(self.table, GranuleTable) else 1
        self.table.table.fill(address, length, owner=slot, state=space, flags=int(use), guest=guest)


_WIPE: Final = 1 << 18
