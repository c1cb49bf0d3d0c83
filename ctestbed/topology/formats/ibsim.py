"""The net file of ibsim: records of kind, port count and quoted id, and a line per joined port.

One end is enough to join two ports; where both speak they must agree. Ids are free text. Links
may say `w=`, `s=` and `e=` (codes of width, speed and extended speed). `include` and `do` lines
read other files and run commands, so they are refused.
"""

import re
from typing import Final

from ctestbed.topology.cabling import Cabling, Device
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.infiniband import LANE_RATES, kind_of
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "ibsim"

_IGNORED: Final = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid|hcaguid)\s*=.*")
_NODE: Final = re.compile(r'(\w+)\s+([0-9]{1,4})\s+"([^"]+)"(.*)')
_PORT: Final = re.compile(
    r'\[([0-9]{1,4})\](?:\([^)]*\))?\s*"([^"]+)"\s*\[([0-9]{1,4})\](?:\([^)]*\))?(.*)'
)
_OPTION: Final = re.compile(r"([wse])=([0-9]+)")
_WIDTHS: Final = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
_SPEEDS: Final = {1: "SDR", 2: "DDR", 4: "QDR"}
_EXTENDED: Final = {1: "FDR", 2: "EDR", 4: "HDR", 8: "NDR", 16: "XDR"}


def read(source: Source) -> Cabling:
    """Read a net file of ibsim.

    Raises:
        InputError: not of this format, or ports that disagree; with its line.
    """
    collector = Collector(source, FORMAT)
    said: dict[tuple[str, int], tuple[str, int, int, str]] = {}
    current: str | None = None
    for number, line in enumerate(source.lines, 1):
        text = line.partition("#")[0].strip()
        if not text or _IGNORED.fullmatch(text):
            continue
        if text[0] == "[":
            current = _read_port(collector, said, current, number)
            continue
        word = text.split(None, 1)[0]
        if word in {"include", "do"}:
            raise source.refuse(
                "CTB-T114",
                f"`{word}` reads other files or runs commands, which an import does not",
                number,
                "write what it brings in into this file",
            )
        current = _read_node(collector, number)
    if not collector.devices:
        raise source.refuse("CTB-T101", f"{source.name!r} names no node", None, "is it whole?")
    _join(collector, said)
    return collector.finish(source.name)


def _read_node(collector: Collector, number: int) -> str:
    source = collector.source
    text = source.lines[number - 1].strip()
    match = _NODE.fullmatch(text)
    if match is None:
        raise source.bad_line(number, "a record or a port", 'write it like `Switch 4 "leaf0"`')
    kind = kind_of(match[1])
    if kind is None:
        raise source.refuse(
            "CTB-T106", f"{match[1]!r} is no kind of node", number, "known: Switch, Hca, Ca, Rt"
        )
    collector.add(Device(match[3], kind, int(match[2]), line=number))
    return match[3]


def _read_port(
    collector: Collector,
    said: dict[tuple[str, int], tuple[str, int, int, str]],
    current: str | None,
    number: int,
) -> str:
    source = collector.source
    match = _PORT.fullmatch(source.lines[number - 1].partition("#")[0].strip())
    if match is None or current is None:
        what = "a port that leads somewhere" if match is None else "inside a record"
        raise source.bad_line(number, what, 'write it like `[1] "spine0"[3]`')
    key = (current, int(match[1]))
    if key in said:
        raise source.refuse(
            "CTB-T103",
            f"port {key[1]} of {shorten(current)!r} is named a second time; "
            f"the first time is line {said[key][2]}",
            number,
            "a port takes one cable",
        )
    said[key] = (match[2], int(match[3]), number, match[4].strip())
    return current


def _join(collector: Collector, said: dict[tuple[str, int], tuple[str, int, int, str]]) -> None:
    for (name, port), (far, far_port, number, options) in said.items():
        near_device, far_device = collector.index[name], collector.find(far, number)
        for device, used in ((near_device, port), (far_device, far_port)):
            ports = collector.devices[device].ports or 0
            if not 1 <= used <= ports:
                raise collector.source.refuse(
                    "CTB-T115",
                    f"port {used} of {collector.devices[device].name!r}, which has {ports}",
                    number,
                    "ports count from 1",
                )
        answer = said.get((far, far_port))
        if answer is not None and answer[:2] != (name, port):
            raise collector.source.refuse(
                "CTB-T103",
                f"port {port} of {shorten(name)!r} leads to port {far_port} of {shorten(far)!r}, "
                f"which leads elsewhere (line {answer[2]})",
                number,
                "ibsim joins two ports only where both agree",
            )
        if answer is None or (answer[2] >= number):
            collector.cable(
                near_device,
                far_device,
                str(port),
                str(far_port),
                rate=_rate(collector.source, options or (answer[3] if answer else ""), number),
                line=number,
                b_line=answer[2] if answer else number,
            )


def _rate(source: Source, options: str, number: int) -> int | None:
    """Return bit/s from the codes of width and speed; None where they are not given."""
    given: dict[str, int] = {}
    for word in options.split():
        match = _OPTION.fullmatch(word)
        if match is None or len(match[2]) > 3:  # noqa: PLR2004 - codes are of three digits at most
            raise source.refuse(
                "CTB-T101",
                f"{shorten(word)!r} is no option of a link",
                number,
                "known: w=, s=, e=",
            )
        given[match[1]] = int(match[2])
    if not given:
        return None
    width = _WIDTHS.get(given.get("w", 2))
    extended = given.get("e", 0)
    speed = _EXTENDED.get(extended) if extended else _SPEEDS.get(given.get("s", 1))
    if width is None or speed is None:
        raise source.refuse(
            "CTB-T113",
            f"{options!r} holds a code of no width or speed",
            number,
            "w: 1, 2 (4x), 4 (8x), 8 (12x), 16 (2x); s: 1, 2, 4; e: 1, 2, 4, 8, 16",
        )
    return width * LANE_RATES[speed]
