"""Port names for formats that are particular about them."""

import re
from collections.abc import Callable

import numpy as np

from ctestbed.topology.cabling import Cabling, Column
from ctestbed.topology.writers.common import Notes


def ordinal_ports(cabling: Cabling, notes: Notes, *, keep: bool = True) -> tuple[Column, Column]:
    """Return a number from 1 for each cable end, no two alike on a device.

    With `keep`, a device whose ports all are such numbers keeps them; else, and on all others,
    ports are numbered in order of the cables.
    """
    cables = cabling.cables
    device = np.concatenate([cables.a, cables.b]).astype(np.int64)
    port = np.concatenate([cables.a_port, cables.b_port])
    values = np.array([_number(name) for name in (*cabling.port_names, "")], np.int64)
    number = values[port]  # -1 finds the last, which is no number
    order = np.lexsort((np.arange(len(device)), device))
    numbered = number.copy()
    firsts = np.flatnonzero(np.diff(device[order], prepend=-1))
    counted = np.arange(len(device)) - np.repeat(firsts, np.diff(firsts, append=len(device)))
    numbered[order] = counted + 1
    if keep:
        keys = np.unique(device * (number.max(initial=0) + 2) + number)
        distinct = np.bincount(keys // (number.max(initial=0) + 2), minlength=len(cabling.devices))
        ends = np.bincount(device, minlength=len(cabling.devices))
        bad = distinct != ends
        bad[device[number < 1]] = True
        keeps = ~bad[device]
        if not keeps.all():
            _note(cabling, notes, int(np.flatnonzero(~keeps)[0]))
        numbered[keeps] = number[keeps]
    return numbered[: len(cables)], numbered[len(cables) :]


def _note(cabling: Cabling, notes: Notes, position: int) -> None:
    row, end = position % len(cabling.cables), "a" if position < len(cabling.cables) else "b"
    name = cabling.end_name(cabling.cables, row, end)
    notes.add(
        "CTB-T315",
        f"ports are numbers here: those of devices such as {name} are numbered in order of the "
        "cables",
        "translate ports by the order of the cable list",
    )


def _number(name: str) -> int:
    return int(name) if name.isascii() and name.isdigit() and 0 < len(name) < 8 else -1  # noqa: PLR2004 - more digits are no port


def interface_texts(
    cabling: Cabling, notes: Notes, allowed: str, longest: int
) -> tuple[Callable[[int, int], str], Callable[[int, int], str]]:
    """Return two functions (row, port column value) -> interface name, for ends a and b.

    Port names that consist of `allowed` and are short enough stand as they are, a bare number as
    `ethN`; where any is missing, does not fit or is used twice on a device, all are numbered.
    """
    cables = cabling.cables
    fits = re.compile(f"(?=[^0-9])[{allowed}]{{1,{longest}}}")
    texts = [f"eth{name}" if name.isdigit() else name for name in cabling.port_names]
    used = np.unique(np.concatenate([cables.a_port, cables.b_port]))
    good = bool(len(used) == 0 or used[0] >= 0) and all(
        fits.fullmatch(texts[port]) for port in used.tolist()
    )
    if good and len(set(texts)) == len(texts) and not _shared(cabling):

        def named(_row: int, port: int) -> str:
            return texts[port]

        return named, named
    a_numbers, b_numbers = ordinal_ports(cabling, notes, keep=False)
    notes.add(
        "CTB-T315",
        "some interfaces have no name that can stand here, so all are numbered, eth1 and on, in "
        "order of the cables",
        "translate interfaces by the order of the cable list",
    )
    a_list, b_list = a_numbers.tolist(), b_numbers.tolist()
    return (lambda row, _port: f"eth{a_list[row]}"), (lambda row, _port: f"eth{b_list[row]}")


def _shared(cabling: Cabling) -> bool:
    from ctestbed.topology.cabling import shared_ports

    return bool(shared_ports(cabling))
