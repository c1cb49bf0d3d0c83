"""What text formats cannot hold in a name: control characters, and half of a surrogate pair."""

import re
from typing import Final

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import Notes

# All that XML 1.0 has no way to write (production [2] Char), and line ends.
_BAD: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def refuse_control_characters(cabling: Cabling, notes: Notes) -> None:
    """Refuse names of devices and ports that would break a line or the file.

    Raises:
        InputError: there is one.
    """
    for name in (cabling.name, *(device.name for device in cabling.devices), *cabling.port_names):
        if _BAD.search(name):
            raise notes.refusal(
                "CTB-T305",
                f"{name[:80]!r} holds a control character",
                "rename it",
            )
