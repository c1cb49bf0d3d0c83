"""Which format a file of flows is in, and its reader and writer."""

from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.names import did_you_mean
from ctestbed.topology.formats.source import Source, read_source
from ctestbed.workload.files.cm import dump_cm, read_cm
from ctestbed.workload.files.hpcc import dump_hpcc, read_hpcc
from ctestbed.workload.files.record import FlowFile, FlowFormat, Labels, SwitchCut
from ctestbed.workload.files.table import Resolve, columns_of, dump_table, read_table
from ctestbed.workload.flows import MAX_FLOWS, Flows

FORMATS: tuple[FlowFormat, ...] = ("htsim-cm", "hpcc-flow", "csv")

MAX_FILE: int = 2**28
"""The largest file of flows read, in bytes."""

LONGEST_LINE: int = 2**20
"""The longest line of one; a row of CSV may wait for many flows."""

_MOST_LINES: int = 2 * MAX_FLOWS


def load_flows(name: str, resolve: Resolve | None = None) -> FlowFile:
    """Read a file of flows, or standard input for `-`; what is in it tells the format.

    Raises:
        InputError: it cannot be read, or is in no known format, or is malformed.
    """
    content = read_input(name, limit=MAX_FILE, what="file of flows")
    return parse_flows(content, name, resolve)


def parse_flows(content: bytes, name: str, resolve: Resolve | None = None) -> FlowFile:
    """Read flows from bytes; `name` is what messages call them.

    Raises:
        InputError: no known format, or malformed.
    """
    _refuse_vast(content, name)
    source = read_source(content, name)
    form = _format_of(source)
    if form == "htsim-cm":
        return read_cm(source)
    return read_hpcc(source) if form == "hpcc-flow" else read_table(source, resolve)


def _refuse_vast(content: bytes, name: str) -> None:
    """Refuse, before anything is taken apart, what would take far more memory than its bytes."""
    lines = content.count(b"\n") + 1
    if lines > _MOST_LINES:
        raise InputError(
            "CTB-S012",
            f"{name!r} has {lines:,} lines, and {MAX_FLOWS:,} flows are the most that is run at "
            "once",
            where=Where(name),
            hint="run a part of it",
        )
    longest = max(map(len, content.split(b"\n")))
    if longest > LONGEST_LINE:
        raise InputError(
            "CTB-S034",
            f"{name!r} has a line of {longest:,} bytes, and is no file of flows",
            where=Where(name),
            hint="check that this is the file you meant",
        )


def _format_of(source: Source) -> FlowFormat:
    if columns_of(source.lines[0]) is not None:
        return "csv"
    for line in source.lines:
        words = line.split()
        if words and not words[0].startswith("#"):
            if words[0] in ("Nodes", "Connections", "Triggers", "Failures"):
                return "htsim-cm"
            if len(words) == 1 and words[0].isdigit() and line is source.lines[0]:
                return "hpcc-flow"
            break
    raise source.refuse(
        "CTB-S034",
        f"{source.name!r} is no file of flows",
        1,
        "known: connection matrices of htsim (`Nodes N` first), flow lists of HPCC (their number "
        "first), CSV with `source`, `destination` and `size`",
    )


def dump_flows(
    flows: Flows,
    form: str,
    *,
    nodes: int,
    labels: Labels | None = None,
    cuts: tuple[SwitchCut, ...] = (),
) -> str:
    """Write flows in a format; `nodes` is the number of hosts they are among.

    Raises:
        InputError: no such format, or it cannot say what the flows do.
    """
    if form == "htsim-cm":
        return dump_cm(flows, nodes, labels, cuts)
    if form == "hpcc-flow":
        return dump_hpcc(flows, labels)
    if form == "csv":
        return dump_table(flows, labels)
    raise InputError(
        "CTB-S034", f"{form[:40]!r} is no format of flows", hint=did_you_mean(form, FORMATS)
    )
