"""JSON Lines: one finding or metric a line, the verdict last, for scripts that read a stream."""

import json
from typing import Any

from ctestbed.core.envelope import Envelope


def render_jsonl(envelope: Envelope) -> str:
    """Return a line with a `type` for each finding and metric, then the verdict."""
    verdict = {key: envelope[key] for key in ("schema", "status", "exit_code", "complete")}
    records: list[dict[str, Any]] = [
        *({"type": "finding", **finding} for finding in envelope["findings"]),
        *({"type": "metric", **metric} for metric in envelope["metrics"]),
        {"type": "verdict", **verdict},
    ]
    return "".join(
        json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records
    )
