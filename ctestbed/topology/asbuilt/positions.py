"""Where devices stand: tier, rail, plane, host; and a ranking that no order of input changes."""

from collections import Counter, defaultdict
from functools import cached_property

from ctestbed.topology.asbuilt.ends import Ground
from ctestbed.topology.cabling import Device, DeviceKind

_LEAF = 1


class Positions:
    """What is known of the places of devices on common ground."""

    def __init__(self, ground: Ground) -> None:
        """Look at devices of the design first, and at built ones where it has none."""
        self.ground = ground

    def device(self, number: int) -> Device:
        """Return the record of a common device: the design's where it has one."""
        design = self.ground.design.devices
        if number < len(design):
            return design[number]
        return self.ground.built.devices[number - len(design)]

    @cached_property
    def order(self) -> list[int]:
        """Return each device's rank: by tier, then by name."""
        keys = [self._key(number) for number in range(self.ground.size)]
        ranks = [0] * len(keys)
        for rank, number in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
            ranks[number] = rank
        return ranks

    def _key(self, number: int) -> tuple[int, str]:
        device = self.device(number)
        tier = device.tier
        if tier is None:
            tier = 9 if device.kind == DeviceKind.SWITCH else 0
        return tier, device.name

    def ordered(self, a: int, b: int) -> tuple[int, int]:
        """Return two devices, the lower tier first, then by name."""
        return (a, b) if self._key(a) <= self._key(b) else (b, a)

    def rank(self, pair: tuple[int, int]) -> tuple[tuple[int, str], ...]:
        """Return a sort key of a pair."""
        return tuple(sorted(self._key(device) for device in pair))

    def word(self, number: int) -> str:
        """Return what a device is called: host, leaf, switch."""
        device = self.device(number)
        words = {1: "leaf", 2: "spine", 3: "core"}
        if device.kind == DeviceKind.SWITCH:
            return words.get(device.tier or 0, "switch")
        return {DeviceKind.NIC: "NIC", DeviceKind.UNKNOWN: "device"}.get(
            device.kind, device.kind.word
        )

    @cached_property
    def _hosts(self) -> Counter[str]:
        return Counter(
            device.host for device in self.ground.design.devices if device.host is not None
        )

    def in_host(self, host: str) -> int:
        """Return how many devices of the design are in a host."""
        return self._hosts[host]

    @cached_property
    def _rails(self) -> dict[int, set[int]]:
        """Return the rails of the NICs below each switch of the design."""
        found: dict[int, set[int]] = defaultdict(set)
        devices, ends = self.ground.design.devices, self.ground.design_ends
        rails = [-1 if device.rail is None else device.rail for device in devices]
        for a, b in zip(ends.a.tolist(), ends.b.tolist(), strict=True):
            for near, far in ((a, b), (b, a)):
                if rails[near] >= 0 and devices[far].kind == DeviceKind.SWITCH:
                    found[far].add(rails[near])
        return found

    def rail(self, switch: int) -> int | None:
        """Return the one rail that a switch serves; None where it serves several or none."""
        if switch < len(self.ground.design.devices) and self.device(switch).rail is not None:
            return self.device(switch).rail
        rails = self._rails.get(switch, set())
        return next(iter(rails)) if len(rails) == 1 else None

    def other_rail(self, lower: int, found: int, meant: int) -> str | None:
        """Say how a leaf differs from the one meant for a NIC in rail or plane; None if not."""
        there, should = self.device(found), self.device(meant)
        alike = there.kind == should.kind == DeviceKind.SWITCH and there.tier == should.tier
        if self.device(lower).kind == DeviceKind.SWITCH or not alike:
            return None
        if there.plane is not None and should.plane is not None and there.plane != should.plane:
            return f"plane {there.plane} instead of {should.plane}"
        rails = self.rail(found), self.rail(meant)
        if rails[0] is not None and rails[1] is not None and rails[0] != rails[1]:
            return f"rail {rails[0]} instead of {rails[1]}"
        return None
