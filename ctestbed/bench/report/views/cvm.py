"""Views of `cvm`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Facts, Text, cut_rows, table
from ctestbed.core.envelope import Envelope
from ctestbed.core.units import format_size

_MAX_ROWS = 40
_LINE_BYTES = 16


def launch(envelope: Envelope) -> list[Block]:
    """The VM as launched, and the next step."""
    data = envelope["data"]
    return [Facts(f"VM {data['name']}", _facts(data)), *_next_step(data)]


def list_(envelope: Envelope) -> list[Block]:
    """A row per VM."""
    rows = [
        [
            vm["name"],
            vm["platform"],
            format_size(vm["memory"]),
            _slot(vm),
            _policy(vm),
            vm["measurement"][:16] + "...",
        ]
        for vm in envelope["data"]["vms"]
    ]
    if not rows:
        return [Text("No VM here. Launch one with `ctestbed cvm launch --name a`.")]
    shown, note = cut_rows(rows, _MAX_ROWS)
    header = "name | platform | memory> | key slot> | policy | measurement"
    return [table("VMs", header, shown, note)]


def show(envelope: Envelope) -> list[Block]:
    """The VM, then the same bytes as its host and as itself see them."""
    data = envelope["data"]
    root = data["root_fingerprint"]
    made = "EMULATED SEEDED" if data["seeded"] else "EMULATED"
    facts = [
        *_facts(data),
        ("runs on", data["title"]),
        ("physical address", f"{data['base']:#x}"),
        ("touched memory", format_size(data["touched"])),
        ("memory cipher", data["cipher"]),
        ("integrity", data["integrity"]),
        ("ownership", data["ownership"]),
        ("register save area", data["save_area"]),
        ("root", "none" if root is None else f"{made} {root}"),
    ]
    return [Facts(f"VM {data['name']}", tuple(facts)), *_views(data["view"])]


def stop(envelope: Envelope) -> list[Block]:
    """That it is gone."""
    return [Text(f"VM {envelope['data']['name']} is stopped; its memory key is destroyed.")]


def attack(envelope: Envelope) -> list[Block]:
    """The attacks, or what came of them."""
    data = envelope["data"]
    if data["action"] == "list":
        rows = [[one["name"], one["title"], ", ".join(one["against"])] for one in data["attacks"]]
        return [table("Attacks", "attack | what it does | also run against", rows)]
    cells = data["cells"]
    rows = [
        [
            cell["attack"],
            cell["platform"],
            ", ".join(cell["mitigations"]),
            cell["outcome"],
            cell["published"] or "-",
            cell["verdict"],
            cell["observed"],
        ]
        for cell in cells
    ]
    known = [cell for cell in cells if cell["published"]]
    agree = sum(cell["verdict"] == "agrees" for cell in known)
    note = (
        f"{len(cells)} cells, simulated on emulated machines; papers report {len(known)}, and "
        f"{agree} of them agree. The others follow from the model alone"
    )
    header = "attack | platform | with | outcome | published (claimed) | verdict | observed"
    return [table("What came of the attacks", header, rows, note)]


def _facts(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    image = data["image"]
    return (
        ("platform", data["platform"]),
        ("memory", format_size(data["memory"])),
        ("key slot", _slot(data)),
        ("policy", _policy(data)),
        ("image", f"{image['name']} ({format_size(image['size'])})"),
        ("virtual CPUs", str(data["vcpus"])),
        *((("switches", ", ".join(data["switches"])),) if data["switches"] else ()),
        ("measurement", data["measurement"]),
    )


def _slot(vm: dict[str, Any]) -> str:
    return str(vm["asid"]) if vm["asid"] else "none"


def _policy(vm: dict[str, Any]) -> str:
    flags = " ".join(vm["policy_flags"]) or "no flags"
    return f"{vm['policy']:#010x} ({flags})"


def _next_step(data: dict[str, Any]) -> list[Block]:
    if data["platform"] == "plain":
        return []
    if data["platform"] != "csv":
        return [Text(f"Next: `ctestbed cvm show {data['name']}`.")]
    name = data["name"]
    return [Text(f"Next: `ctestbed evidence make {name} --nonce HEX -o ev.bin`, then verify it.")]


def _views(view: dict[str, Any]) -> list[Block]:
    lines = []
    for party, note in (("host", view["host_answer"]), ("guest", "plaintext")):
        if not view[party]:
            lines.append(f"{party} gets no byte: {note}")
            continue
        entropy = view[f"{party}_entropy"]
        lines.append(f"{party} sees {note} ({entropy:.3f} bits of entropy per byte)")
        lines += _dump(view["address"], bytes.fromhex(view[party]))
    return [Text("\n".join(lines), title="The same memory, seen by two", fixed=True)]


def _dump(address: int, data: bytes) -> list[str]:
    lines = []
    for start in range(0, len(data), _LINE_BYTES):
        part = data[start : start + _LINE_BYTES]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)  # noqa: PLR2004
        lines.append(f"  {address + start:08x}  {part.hex(' '):<47}  {text}")
    return lines
