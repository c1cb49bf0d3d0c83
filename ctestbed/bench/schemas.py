"""JSON Schemas: the testbed file, the envelope, and each command's data inside it.

A command's data is a TypedDict beside the function that fills it; the schema is derived from it,
so that the two cannot drift apart.
"""

from importlib import import_module
from typing import Any, Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import nearest

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

TESTBED: Final = "testbed"
PRICES: Final = "prices"
ENVELOPE: Final = "envelope"

DATA_TYPES: Final[dict[str, tuple[str, str]]] = {
    "ctestbed.topology.list/1": ("ctestbed.topology.commands", "ListData"),
    "ctestbed.topology.show/1": ("ctestbed.topology.describe", "ShowData"),
    "ctestbed.topology.validate/1": ("ctestbed.topology.commands", "ValidateData"),
    "ctestbed.topology.import/1": ("ctestbed.topology.importing", "ImportData"),
    "ctestbed.topology.as-built/1": ("ctestbed.topology.comparing", "AsBuiltData"),
    "ctestbed.topology.diff/1": ("ctestbed.topology.comparing", "DiffData"),
    "ctestbed.topology.build/1": ("ctestbed.topology.generate", "BuildData"),
    "ctestbed.topology.bom/1": ("ctestbed.topology.bom.data", "BomData"),
    "ctestbed.topology.export/1": ("ctestbed.topology.exporting", "ExportData"),
    "ctestbed.route.path/1": ("ctestbed.routing.commands", "PathData"),
    "ctestbed.sim.transfer/1": ("ctestbed.workload.transfer", "TransferData"),
    "ctestbed.sim.transfer-seeds/1": ("ctestbed.workload.packet_runs", "SeedsData"),
    "ctestbed.sim.headroom/1": ("ctestbed.workload.headroom", "HeadroomData"),
    "ctestbed.sim.longhaul/1": ("ctestbed.workload.longhaul", "LongHaulData"),
    "ctestbed.cvm.launch/1": ("ctestbed.tee.commands", "VMData"),
    "ctestbed.cvm.list/1": ("ctestbed.tee.commands", "ListData"),
    "ctestbed.cvm.show/1": ("ctestbed.tee.commands", "ShowData"),
    "ctestbed.cvm.stop/1": ("ctestbed.tee.commands", "StopData"),
    "ctestbed.cvm.attack/1": ("ctestbed.tee.attacks.commands", "AttackReport"),
    "ctestbed.evidence.make/1": ("ctestbed.tee.evidence", "MakeData"),
    "ctestbed.evidence.show/1": ("ctestbed.evidence.commands", "ShowData"),
    "ctestbed.attest.verify/1": ("ctestbed.attestation.commands", "VerifyData"),
    "ctestbed.attest.roots/1": ("ctestbed.attestation.roots.commands", "RootsData"),
    "ctestbed.bench.list/1": ("ctestbed.bench.commands", "BenchListData"),
    "ctestbed.bench.run/1": ("ctestbed.bench.run_data", "RunData"),
    "ctestbed.report.build/1": ("ctestbed.bench.report.commands", "BuildData"),
    "ctestbed.report.convert/1": ("ctestbed.bench.report.commands", "ConvertData"),
    "ctestbed.doctor.doctor/1": ("ctestbed.bench.doctor", "DoctorData"),
    "ctestbed.explain.explain/1": ("ctestbed.bench.reference", "ExplainData"),
    "ctestbed.schema.list/1": ("ctestbed.bench.reference", "SchemaListData"),
    "ctestbed.schema.show/1": ("ctestbed.bench.reference", "SchemaShowData"),
    "ctestbed.config.show/1": ("ctestbed.bench.settings_data", "ConfigShowData"),
    "ctestbed.config.path/1": ("ctestbed.bench.settings_data", "ConfigPathData"),
}
"""Where the TypedDict of each command's data is declared: schema name -> (module, name)."""


def list_schemas() -> list[tuple[str, str]]:
    """Return (name, title) of every schema, in a fixed order."""
    commands = [(name, f"report of `{_command_of(name)}`") for name in sorted(DATA_TYPES)]
    files = [(TESTBED, "a testbed file"), (PRICES, "a price list for `topology bom`")]
    return [*files, (ENVELOPE, "any report envelope"), *commands]


def _command_of(name: str) -> str:
    _, noun, verb = name.split("/", 1)[0].split(".")
    if verb == "transfer-seeds":
        return "ctestbed sim transfer --seeds"
    if verb == "as-built":
        return f"ctestbed {noun} validate --as-built"
    return f"ctestbed {noun}" if noun == verb else f"ctestbed {noun} {verb}"


def build_schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) by name; the `/1` may be left off.

    Raises:
        InputError: no such schema.
    """
    if name == TESTBED:
        from ctestbed.topology.testbed import Testbed

        return {"$schema": _DIALECT, **Testbed.model_json_schema(by_alias=True)}
    if name == PRICES:
        from ctestbed.topology.bom.prices import PriceList

        return {"$schema": _DIALECT, **PriceList.model_json_schema(by_alias=True)}
    if name == ENVELOPE:
        return envelope_schema({"type": "object"}, None)
    full = name if "/" in name else f"{name}/1"
    if full not in DATA_TYPES:
        close = nearest(full, DATA_TYPES) if "." in name else None
        hint = f"did you mean `{close}`?" if close else "`ctestbed schema list` lists them all"
        raise InputError("CTB-U005", f"there is no schema {name!r}", hint=hint)
    from pydantic import TypeAdapter

    module, attribute = DATA_TYPES[full]
    data_type = getattr(import_module(module), attribute)
    data = TypeAdapter(data_type).json_schema(mode="serialization")
    for part in (data, *data.get("$defs", {}).values()):
        if part.get("type") == "object" and "properties" in part:
            part.setdefault("additionalProperties", False)
    return envelope_schema(data, full)


def envelope_schema(data: dict[str, Any], schema_name: str | None) -> dict[str, Any]:
    """Return the envelope's schema around a command's data."""
    definitions = data.pop("$defs", {})
    text: dict[str, Any] = {"type": "string"}
    place = _closed({"file": text, "pointer": text, "line": {"type": "integer", "minimum": 1}}, [])
    finding = _closed(
        {
            "code": text,
            "severity": {"enum": ["error", "warning", "note"]},
            "message": text,
            "where": place,
            "hint": text,
        },
        ["code", "severity", "message"],
    )
    name: dict[str, Any] = {"const": schema_name} if schema_name else text
    properties: dict[str, Any] = {
        "schema": name,
        "status": {"enum": ["pass", "fail", "error"]},
        "exit_code": {"type": "integer"},
        "complete": {"type": "boolean"},
        "tool": _closed({"name": {"const": "ctestbed"}, "version": text}, ["name", "version"]),
        "request": _request_schema(),
        "inputs": {
            "type": "array",
            "items": _closed(
                {"name": text, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
                ["name", "sha256"],
            ),
        },
        "data": data,
        "findings": {"type": "array", "items": finding},
        "metrics": {"type": "array", "items": _metric_schema()},
        "run": {"type": "object"},
    }
    required = [key for key in properties if key != "run"]
    schema = {"$schema": _DIALECT, **_closed(properties, required)}
    if definitions:
        schema["$defs"] = definitions
    return schema


def _request_schema() -> dict[str, Any]:
    command = {"type": "array", "items": {"type": "string"}}
    return _closed(
        {"command": command, "options": {"type": "object"}, "seed": {"type": "integer"}},
        ["command", "options"],
    )


def _metric_schema() -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    number: dict[str, Any] = {"type": "number"}
    return _closed(
        {
            "name": text,
            "value": {"anyOf": [number, {"const": "UNKNOWN"}]},
            "unit": text,
            "better": {"enum": ["higher", "lower", "none"]},
            "kind": {"enum": ["exact", "timed"]},
            "provenance": {"enum": ["measured", "simulated", "modelled", "claimed"]},
            "source": text,
            "n": {"type": "integer", "minimum": 1},
            "ci95": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
        },
        ["name", "unit", "better", "kind", "provenance"],
    )


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
