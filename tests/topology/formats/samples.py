"""One small sound file per format, made by hand, and how to read it."""

import json
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.topology.cabling import Cabling
from ctestbed.topology.importing import parse_cabling


def _ib(kind: str, guid: str, ports: int, name: str, *lines: str) -> str:
    prefix, key = ("S", "switchguid") if kind == "Switch" else ("H", "caguid")
    own = f"({guid})" if kind == "Switch" else ""
    tail = " base port 0 lid 1 lmc 0" if kind == "Switch" else ""
    return "\n".join(
        [
            "vendid=0x2c9",
            "devid=0xd2f2",
            f"sysimgguid=0x{guid}",
            f"{key}=0x{guid}{own}",
            f'{kind}\t{ports} "{prefix}-{guid:0>16}"\t\t# "{name}"{tail}',
            *lines,
            "",
        ]
    )


SWITCH: Final = "2c5eab0300b87b40"
SPINE: Final = "2c5eab0300c26280"
ADAPTERS: Final = ("e09d7303007a4bd8", "e09d730300859298")

IBNETDISCOVER: Final = "\n".join(
    [
        "#",
        "# Topology file: generated on Wed Aug  6 16:11:23 2025",
        "#",
        f"# Initiated from node {ADAPTERS[0]} port {ADAPTERS[0]}",
        "",
        _ib(
            "Switch",
            SWITCH,
            8,
            "MF0;LEAF-01:MQM9700/U1",
            f'[1]\t"H-{ADAPTERS[0]}"[1]({ADAPTERS[0]}) \t\t# "host1 HCA-1" lid 7 4xNDR',
            f'[2]\t"H-{ADAPTERS[1]}"[1]({ADAPTERS[1]}) \t\t# "host2 HCA-1" lid 8 4xNDR',
            f'[3]\t"S-{SPINE}"[1]\t\t# "MF0;SPINE-01:MQM9700/U1" lid 2 4xNDR',
            f'[4]\t"S-{SPINE}"[2]\t\t# "MF0;SPINE-01:MQM9700/U1" lid 2 2xHDR',
        ),
        _ib(
            "Switch",
            SPINE,
            8,
            "MF0;SPINE-01:MQM9700/U1",
            f'[1]\t"S-{SWITCH}"[3]\t\t# "MF0;LEAF-01:MQM9700/U1" lid 1 4xNDR',
            f'[2]\t"S-{SWITCH}"[4]\t\t# "MF0;LEAF-01:MQM9700/U1" lid 1 2xHDR',
        ),
        *(
            _ib(
                "Ca",
                guid,
                1,
                f"host{number} HCA-1",
                f'[1]({guid}) \t"S-{SWITCH}"[{number}]\t\t'
                f'# lid {6 + number} lmc 0 "MF0;LEAF-01:MQM9700/U1" lid 1 4xNDR',
            )
            for number, guid in enumerate(ADAPTERS, 1)
        ),
    ]
)

IBSIM: Final = """\
# two hosts
Switch 4 "leaf0"
[1] "h0"[1]
[2] "h1"[1] w=2 s=4
[3] "spine0"[1] w=2 e=8

Switch 4 "spine0"
[1] "leaf0"[3]

Hca 1 "h0"
[1] "leaf0"[1]

Hca 1 "h1"
"""

HPCC: Final = """\
4 2 4
2 3
0 2 100Gbps 1000ns 0.000000
1 2 100Gbps 0.001ms 0
2 3 400Gbps 1us 0.01
2 3 400Gbps 1us 0
these words are not read
"""

SIMAI: Final = """\
6 2 1 1 8 H100
4 5
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 4 2880Gbps 0.000025ms 0
3 4 2880Gbps 0.000025ms 0
0 5 400Gbps 0.0005ms 0
1 5 400Gbps 0.0005ms 0
2 5 400Gbps 0.0005ms 0
3 5 400Gbps 0.0005ms 0
"""

HTSIM: Final = """\
# three tiers
Nodes 16
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 2000

Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 3000
"""

ASTRA: Final = """\
topology: [ Switch, Ring, FullyConnected ]
npus_count: [ 2, 3, 4 ]
bandwidth: [ 400, 50, 12.5 ]
latency: [ 936.25, 1000, 500 ]
"""

CONTAINERLAB: Final = """\
name: lab
topology:
  nodes:
    leaf1: {kind: nokia_srlinux, type: ixr-d2l}
    spine1:
      kind: ceos
      labels: {tier: 2, rack: r1}
    client1:
      kind: linux
  links:
    - endpoints: ["leaf1:e1-1", "spine1:e1-1"]
    - endpoints: [{node: leaf1, interface: e1-2}, {node: client1, interface: eth1}]
      type: veth
    - endpoints: ["client1:eth9", "host:veth9"]
    - type: mgmt-net
      endpoint: {node: leaf1, interface: e1-9}
"""

NETLAB: Final = """\
name: small
defaults:
  device: eos
nodes:
  r1:
  r2:
    device: frr
  h1:
    device: linux
links:
- r1-r2
- r1:
  h1:
    ifname: eth1
- interfaces:
  - node: r2
  - node: h1
- [r1, r2, h1]
"""

NETLAB_FABRIC: Final = """\
defaults.device: eos
plugin: [fabric]
fabric:
  spines: 2
  leafs: 3
  leaf.name: leaf-{count:02d}
"""

SIMGRID: Final = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="c" prefix="n-" radical="0-15" suffix="" speed="1Gf" bw="125MBps" lat="50us"
             topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"/>
  </zone>
</platform>
"""

BATFISH: Final = json.dumps(
    {
        "edges": [
            {
                "node1": {"hostname": a, "interfaceName": p},
                "node2": {"hostname": b, "interfaceName": q},
            }
            for a, p, b, q in (
                ("leaf1", "Ethernet1", "spine1", "Ethernet1"),
                ("spine1", "Ethernet1", "leaf1", "Ethernet1"),
                ("leaf1", "Ethernet2", "host1", "eth0"),
            )
        ]
    },
    indent=1,
)

NETQ: Final = json.dumps(
    [
        {
            "links": [
                {
                    "compounded_links": [
                        {
                            "id": f"n0:swp{port}-*-n1:eth{port}",
                            "interfaces": [
                                {"interface": f"swp{port}", "node": "n0"},
                                {"interface": f"eth{port}", "node": "n1"},
                            ],
                        }
                        for port in (1, 2)
                    ],
                    "size": 2,
                }
            ],
            "nodes": [
                {
                    "compounded_nodes": [
                        {"id": "n0", "name": "leaf-1", "device_type": "switch", "tier": 1}
                    ],
                    "size": 1,
                },
                {"compounded_nodes": [{"id": "n1", "name": "dgx-1", "tier": -1}], "size": 1},
            ],
        }
    ],
    indent=1,
)


def lldp_neighbour(name: str, port: str, *capabilities: str) -> dict[str, object]:
    """Return one neighbour as lldpd prints it."""
    return {
        "via": "LLDP",
        "rid": "1",
        "chassis": {
            name: {
                "id": {"type": "mac", "value": "00:00:00:00:00:02"},
                "capability": [{"type": word, "enabled": True} for word in capabilities],
            }
        },
        "port": {"id": {"type": "ifname", "value": port}, "descr": port, "ttl": "120"},
    }


LLDP: Final = json.dumps(
    {
        "leaf1": {
            "lldp": {
                "interface": [
                    {"swp1": lldp_neighbour("spine1", "swp7", "Bridge", "Router")},
                    {"swp2": lldp_neighbour("host1", "eth0", "Station")},
                ]
            }
        },
        "spine1": {"lldp": {"interface": {"swp7": lldp_neighbour("leaf1", "swp1", "Bridge")}}},
    },
    indent=1,
)

GRAPHML: Final = """\
<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="k0" for="node" attr.name="kind" attr.type="string"><default>host</default></key>
  <key id="r" for="edge" attr.name="rate" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="leaf-1"><data key="k0">switch</data></node>
    <node id="h1"/>
    <edge source="h1" target="leaf-1" sourceport="1" targetport="swp1">
      <data key="r">400Gbps</data>
    </edge>
    <edge source="h1" target="leaf-1"><data key="r">200000000000</data></edge>
  </graph>
</graphml>
"""

NODELINK: Final = json.dumps(
    {
        "directed": False,
        "multigraph": True,
        "graph": {"name": "g"},
        "nodes": [{"id": 0, "kind": "switch", "tier": 1}, {"id": "h1", "kind": "nic", "rail": 3}],
        "links": [
            {"source": "h1", "target": 0, "key": 0, "a_port": "1", "b_port": "9", "rate": 10**11},
            {"source": "h1", "target": 0, "key": 1, "rate": "100Gbps", "length": "2m"},
        ],
    },
    indent=1,
)

CSV: Final = """\
a,a_port,b,b_port,rate,length,a_kind,cable
h1,eth0,leaf-1,swp1,400Gbps,2m,host,DAC
h2,eth0,leaf-1,swp2,400Gbps,2m,,DAC
"leaf-1",swp32,spine-1,swp1,800Gbps,30m,switch,AOC
"""

TESTBED: Final = """\
ctestbed: 1
name: tiny
fabric: {kind: fat-tree, tiers: 2, k: 4, rate: 100Gbps, delay: 1us}
"""

SAMPLES: Final[dict[str, str]] = {
    "testbed": TESTBED,
    "ibnetdiscover": IBNETDISCOVER,
    "ibsim": IBSIM,
    "ns3-hpcc": HPCC,
    "simai": SIMAI,
    "htsim": HTSIM,
    "astra-sim": ASTRA,
    "containerlab": CONTAINERLAB,
    "netlab": NETLAB,
    "simgrid": SIMGRID,
    "batfish": BATFISH,
    "netq": NETQ,
    "lldp": LLDP,
    "graphml": GRAPHML,
    "node-link": NODELINK,
    "csv": CSV,
}


def load(text: str | bytes, from_format: str | None = None, name: str = "f.txt") -> Cabling:
    """Read a file's text."""
    content = text.encode() if isinstance(text, str) else text
    return parse_cabling(content, name, from_format)[0]


def refusal(text: str | bytes, from_format: str | None = None) -> InputError:
    """Return the refusal of a file that must be refused."""
    try:
        load(text, from_format)
    except InputError as error:
        return error
    raise AssertionError("accepted")


def edges(cabling: Cabling) -> list[tuple[str, str]]:
    """Return the cables by the names of their ends, ordered, so that order does not matter."""
    table = cabling.cables
    found = []
    for row in range(len(table)):
        a, b = cabling.end_name(table, row, "a"), cabling.end_name(table, row, "b")
        found.append((min(a, b), max(a, b)))
    return sorted(found)
