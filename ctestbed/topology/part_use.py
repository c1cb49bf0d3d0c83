"""Which parts a testbed names, where it names them, and what the switches of a plane are."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pydantic import BaseModel

from ctestbed.core.names import did_you_mean
from ctestbed.core.yamlfile import YAMLPath, format_pointer
from ctestbed.topology.fabrics import AnyFabric
from ctestbed.topology.fields import Switch
from ctestbed.topology.kinds.context import Report
from ctestbed.topology.shapes import TierModels
from ctestbed.topology.testbed import Planes, Testbed

_SHELVES: Final = {
    "medium": "media",
    "in_nics": "media",
    "model": "switches",
    "switch_model": "switches",
    "nic_model": "nics",
    "amplifier_model": "amplifiers",
}
"""The keys that name a part, and where in `parts` it stands."""


class PartUse(NamedTuple):
    """A part named by a testbed: in which list of `parts` it belongs, its name, and where."""

    shelf: str
    name: str
    path: YAMLPath


def part_uses(testbed: Testbed) -> Iterator[PartUse]:
    """Yield every name of a part that a testbed gives, in the order of its models."""
    for field in type(testbed).model_fields:
        yield from _uses_in(getattr(testbed, field), (field,))


def _uses_in(value: object, path: YAMLPath) -> Iterator[PartUse]:
    if isinstance(value, BaseModel):
        for field in type(value).model_fields:
            inner = getattr(value, field)
            if field in _SHELVES and isinstance(inner, str):
                yield PartUse(_SHELVES[field], inner, (*path, field))
            else:
                yield from _uses_in(inner, (*path, field))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _uses_in(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _uses_in(item, (*path, key))


def check_part_names(testbed: Testbed, report: Report) -> None:
    """Report every name that `parts` does not list."""
    for shelf, name, path in part_uses(testbed):
        known = getattr(testbed.parts, shelf)
        if name not in known:
            message = f"`{format_pointer(path)}` is {name!r}, which `parts.{shelf}` does not list"
            hint = did_you_mean(name, known) if known else f"describe it under `parts.{shelf}`"
            report("CTB-T150", message, path, hint)
    media = testbed.parts.media
    for name, medium in media.items():
        other = media.get(medium.in_nics or "")
        if other is not None and other.kind != "transceiver":
            message = f"{medium.in_nics!r}, meant for the NICs' ends of {name!r}, is no transceiver"
            path = ("parts", "media", name, "in_nics")
            report("CTB-T150", message, path, "name a medium of `kind: transceiver`")


def tier_models(fabric: AnyFabric, planes: Planes, plane: int) -> TierModels:
    """Return the models of one plane's switches: its own, its tier's, or the fabric's."""
    own = next((each for each in planes.overrides if each.plane == plane), None)

    def model(tier: str) -> str | None:
        for holder, key in (
            (own, f"{tier}_switch"),
            (fabric, f"{tier}_switch"),
            (fabric, "switch"),
        ):
            switch = getattr(holder, key, None)
            if isinstance(switch, Switch) and switch.model is not None:
                return switch.model
        return None

    return TierModels(*(model(tier) for tier in ("leaf", "spine", "core", "router")))
