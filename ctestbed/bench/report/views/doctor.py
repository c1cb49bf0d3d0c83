"""Views of `doctor`."""

from ctestbed.bench.report.blocks import Block, table
from ctestbed.core.envelope import Envelope


def doctor(envelope: Envelope) -> list[Block]:
    """Each check and what it found."""
    rows = [
        [check["name"], check["status"], check["detail"]] for check in envelope["data"]["checks"]
    ]
    return [table("Checks", "check | status | detail", rows)]
