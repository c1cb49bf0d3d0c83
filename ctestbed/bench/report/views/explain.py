"""Views of `explain`."""

from ctestbed.bench.report.blocks import Block, Facts, table
from ctestbed.core.envelope import Envelope


def explain(envelope: Envelope) -> list[Block]:
    """One code in full, or the list of all."""
    codes, exits = envelope["data"]["codes"], envelope["data"]["exit_codes"]
    if len(codes) == 1 and not exits:
        entry = codes[0]
        pairs = (("means", entry["meaning"]), ("do", entry["remedy"]))
        return [Facts(f"{entry['code']}: {entry['title']}", pairs)]
    if not codes:
        return [Facts("", tuple((f"exit {item['code']}", item["meaning"]) for item in exits))]
    rows = [[entry["code"], entry["title"]] for entry in codes]
    exit_rows = [[str(item["code"]), item["meaning"]] for item in exits]
    return [
        table("Errors and findings", "code | means", rows),
        table("Exit codes", "code> | means", exit_rows),
    ]
