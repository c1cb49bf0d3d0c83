"""Our own testbed file: the same document, written plainly."""

from collections.abc import Iterator

from ctestbed.topology.write import dump_testbed
from ctestbed.topology.writers.common import Fabric, Notes


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write the testbed file anew.

    Raises:
        InputError: an imported cabling, which no few lines describe.
    """
    if fabric.loaded is None:
        raise notes.refusal(
            "CTB-T303",
            "an imported cabling is a list, and a testbed file says how a fabric is built",
            "export to csv, graphml or node-link",
        )
    notes.add(
        "CTB-T316", "all is held except the remarks of the file", "keep the original for these"
    )
    yield dump_testbed(fabric.loaded.document.value, "yaml").decode()
