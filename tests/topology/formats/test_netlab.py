"""What netlab files say otherwise than by plain nodes and links."""

import pytest

from ctestbed.topology.cabling import DeviceKind
from tests.topology.formats.samples import edges, load, refusal

GROUPS = """\
defaults.device: eos
module: [ospf, bfd, fancy]
defaults.attributes.link.colour: str
groups:
  _auto_create: true
  servers:
    members: [h1, h2]
    device: linux
  fabric:
    members: [leaf, spine]
vlans:
  red:
    links: [leaf-h1, {leaf: , h2: , mtu: 9000}]
vrfs:
  blue:
    links:
    - interfaces: [spine, h2]
links:
  peers:
  - lag:
      members: [leaf-spine, leaf-spine]
  - lag.members: [spine-leaf]
  rest:
  - leaf:
    spine.ipv4: 10.0.0.1/24
    fancy.cost: 3
    bfd: false
    tc: {delay: 2ms}
    colour: green
"""


def test_groups_make_nodes_and_links_stand_in_many_places() -> None:
    cabling = load(GROUPS)
    assert cabling.format == "netlab"
    kinds = {device.name: device.kind for device in cabling.devices}
    assert kinds == {
        "h1": DeviceKind.HOST,
        "h2": DeviceKind.HOST,
        "leaf": DeviceKind.SWITCH,
        "spine": DeviceKind.SWITCH,
    }
    assert edges(cabling) == sorted(
        [("h1", "leaf"), ("h2", "leaf"), ("h2", "spine"), *[("leaf", "spine")] * 4]
    )


def test_a_group_gives_its_device_to_the_nodes_that_match() -> None:
    text = "groups: {g: {members: h*, device: linux}}\nnodes: [h1, h2, r1]\nlinks: [h1-r1, h2-r1]\n"
    kinds = [device.kind for device in load(text).devices]
    assert kinds == [DeviceKind.HOST, DeviceKind.HOST, DeviceKind.UNKNOWN]


def test_keys_of_nodes_may_be_dotted() -> None:
    cabling = load("nodes:\n  r1.bgp.as: 1\n  r1.id: 7\n  r2:\nlinks: [r1-r2]\n")
    assert [device.name for device in cabling.devices] == ["r1", "r2"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (GROUPS.replace("[leaf-h1", "[leaf-h9"), "CTB-T105", 13),
        (GROUPS.replace("[spine-leaf]", "[spine-leaves]"), "CTB-T105", 22),
        (GROUPS.replace("tc:", "tx:"), "CTB-T105", 24),
        ("nodes: [a, b]\ncomponents: {pod: {nodes: [c]}}\nlinks: [a-b]\n", "CTB-T114", 2),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(text: str, code: str, line: int) -> None:
    error = refusal(text)
    assert error.code == code
    assert error.where is not None
    assert error.where.line == line


def test_a_group_that_makes_no_node_makes_none() -> None:
    error = refusal("groups: {g: {members: [a, b]}}\nlinks: [a-b]\n")
    assert error.code == "CTB-T105"
