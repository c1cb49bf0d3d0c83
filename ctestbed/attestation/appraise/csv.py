"""Appraise a CSV report of version 1 that is known to be authentic.

What binds a claim. The PEK signs bytes 0-179 as masked by `anonce`, and nothing signs `anonce`:
whoever picks another one shifts every plain word of those bytes by the same four-byte XOR, and
recomputes the MAC, whose key is in the report. So:

- A match with an expected value of four aligned bytes or more (report data, measurement) leaves
  one `anonce` under which it can match, and by it every byte the signature covers: report data,
  measurement, policy, mnonce, VM id and version, owner's key digest are then bound.
- What that is worth depends on who chose the matched value. Nobody can choose a measurement, so
  one that matches holds against everybody. A guest chooses its report data: a host that replays
  another's report is caught, but one that runs a guest of its own can have it ask for data that
  shift to the expected ones, and with them shift policy and measurement. `held_by` says which
  of the two a claim rests on.
- Without such a match none of them is, whatever it says, and the verdict is at most `warning`.
- Signature usage and algorithm (180-187) are outside the signature: only their value check holds.
- Serial number and reserved bytes are held by the MAC alone, so by nobody: never bound.
- The PEK's own fields are signed by the CEK as plain bytes: always bound, by the chain.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from typing_extensions import TypedDict

from ctestbed.attestation.checks import Check, CheckLog
from ctestbed.core.errors import ExitCode, Where
from ctestbed.core.result import Finding
from ctestbed.evidence.csv_certificate import ChipCertificate
from ctestbed.evidence.csv_report import (
    POLICY_NODBG,
    CSVReport,
    policy_flags,
    serial_text,
)

Verdict: TypeAlias = Literal["affirming", "warning", "contraindicated", "none"]
HeldBy: TypeAlias = Literal["chain", "measurement", "report data"]

CHECKS: Final = (
    Check(
        "report.measurement",
        ExitCode.POLICY_REFUSED,
        "measure",
        "144-175",
        "csv-rs: src/api/guest/types.rs",
    ),
    Check(
        "policy.debug",
        ExitCode.POLICY_REFUSED,
        "policy",
        "176-179",
        "csv-rs: src/api/guest/types.rs, policy bit 0 (NODBG)",
    ),
)
"""Every check, in order."""


class Claim(TypedDict):
    """What the evidence says, and whether anything holds it to that; `held_by` is what does."""

    value: Any
    bound: bool
    held_by: HeldBy | None


# Tiers of draft-ietf-rats-ar4si: 0 no claim, 2-31 affirming, 32-95 warning, 96 and up
# contraindicated; the numbers are those it gives for the case at hand.
TrustVector = TypedDict(
    "TrustVector",
    {
        "instance-identity": int,
        "configuration": int,
        "executables": int,
        "hardware": int,
        "runtime-opaque": int,
    },
)

_NO_CLAIM: Final = 0
_GENUINE: Final = 2  # trustworthy instance, approved configuration, genuine hardware
_ENCRYPTED_MEMORY: Final = 2
_APPROVED_BOOT: Final = 3
_WARNING: Final = 32
_CONTRAINDICATED: Final = 96


@dataclass(frozen=True, slots=True)
class CSVPolicy:
    """What a relying party wants. `measurement` is 32 bytes."""

    measurement: bytes | None = None
    allow_debug: bool = False


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What appraisal found; every failure, not just the first."""

    verdict: Verdict
    vector: TrustVector
    claims: dict[str, Claim]
    findings: tuple[Finding, ...]


def appraise_report(
    report: CSVReport, policy: CSVPolicy, log: CheckLog, *, data_matched: bool, emulated: bool
) -> Appraisal:
    """Compare an authentic report with a policy, recording every check in `log`.

    `data_matched`: all 64 bytes of report data equal an expected value. `emulated`: the chain's
    root is emulated, so nothing is claimed of hardware.
    """
    matched = policy.measurement is not None and policy.measurement == report.measure
    held_by: HeldBy | None = "report data" if data_matched else None
    if matched:
        held_by = "measurement"
    bound = held_by is not None
    findings = [
        found
        for found in (
            _held(held_by),
            _check_measurement(report, policy, log),
            _check_debug(report, policy, log, bound=bound),
        )
        if found is not None
    ]
    vector = _vector(report, policy, bound=bound, emulated=emulated)
    return Appraisal(_verdict(vector), vector, _claims(report, held_by), tuple(findings))


def _held(held_by: HeldBy | None) -> Finding | None:
    """Say how far the fields can be relied on, where it is less than wholly."""
    if held_by == "measurement":
        return None
    if held_by == "report data":
        return Finding(
            "CSV_V1_HELD_BY_REPORT_DATA",
            "note",
            "measurement and policy are held by the report data alone: that stops a host that"
            " replays or re-masks another's report, not a guest that chose its data for this",
            Where(pointer="measure"),
            "give --measurement too: nobody can choose a measurement",
        )
    return Finding(
        "CSV_V1_FIELDS_UNBOUND",
        "warning",
        "no expected value was matched, so the report's fields may be anybody's: its mask"
        " (anonce) is not signed",
        Where(pointer="anonce"),
        "give --nonce, --report-data or --measurement",
    )


def _check_measurement(report: CSVReport, policy: CSVPolicy, log: CheckLog) -> Finding | None:
    if policy.measurement is None:
        log.skipped("report.measurement")
        return None
    expected, actual = policy.measurement.hex(), report.measure.hex()
    if expected == actual:
        log.passed("report.measurement", expected, actual)
        return None
    log.failed("report.measurement", "MEASUREMENT_MISMATCH", expected, actual)
    return Finding(
        "MEASUREMENT_MISMATCH",
        "error",
        f"report.measurement: the launch measurement is {actual}, not {expected}",
        Where(pointer="measure"),
        "another image was launched, or the reference value is of another build",
    )


def _check_debug(
    report: CSVReport, policy: CSVPolicy, log: CheckLog, *, bound: bool
) -> Finding | None:
    if not _debuggable(report):
        if bound:
            log.passed("policy.debug", "NODBG set", "NODBG set")
        else:
            log.unknown("policy.debug", "CSV_V1_FIELDS_UNBOUND", "NODBG set")
        return None
    if policy.allow_debug:
        log.skipped("policy.debug", "DEBUG_ON")
    else:
        log.failed("policy.debug", "DEBUG_ON", "NODBG set", "NODBG clear")
    return Finding(
        "DEBUG_ON",
        "warning" if policy.allow_debug else "error",
        "policy.debug: the guest policy lets the host debug the VM and read its memory",
        Where(pointer="policy"),
        None if policy.allow_debug else "launch without debugging, or accept it: --allow-debug",
    )


def _debuggable(report: CSVReport) -> bool:
    return not report.policy & POLICY_NODBG


def _vector(report: CSVReport, policy: CSVPolicy, *, bound: bool, emulated: bool) -> TrustVector:
    if policy.measurement is None:
        executables = _NO_CLAIM
    else:
        executables = _APPROVED_BOOT if policy.measurement == report.measure else _CONTRAINDICATED
    configuration, memory = _GENUINE, _ENCRYPTED_MEMORY
    if not bound:
        configuration, memory = _WARNING, _NO_CLAIM
    if _debuggable(report):
        configuration = memory = _WARNING if policy.allow_debug else _CONTRAINDICATED
    return {
        "instance-identity": _GENUINE,
        "configuration": configuration,
        "executables": executables,
        "hardware": _NO_CLAIM if emulated else _GENUINE,
        "runtime-opaque": memory,
    }


def _verdict(vector: TrustVector) -> Verdict:
    """Return the tier of the worst entry."""
    worst = max(
        vector["configuration"],
        vector["executables"],
        vector["hardware"],
        vector["instance-identity"],
        vector["runtime-opaque"],
    )
    if worst >= _CONTRAINDICATED:
        return "contraindicated"
    return "warning" if worst >= _WARNING else "affirming"


def _claims(report: CSVReport, held_by: HeldBy | None) -> dict[str, Claim]:
    signed: dict[str, Any] = {
        "report_data": report.report_data.hex(),
        "measurement": report.measure.hex(),
        "policy": f"0x{report.policy:08x}",
        "policy_flags": policy_flags(report.policy),
        "debug": _debuggable(report),
        "mnonce": report.mnonce.hex(),
        "vm_id": report.vm_id.hex(),
        "vm_version": report.vm_version.hex(),
        "user_pubkey_digest": report.user_pubkey_digest.hex(),
    }
    claims = {name: _claim(value, held_by) for name, value in signed.items()}
    claims["firmware"] = _claim(_firmware(report.pek), "chain")
    claims["chip_serial"] = _claim(serial_text(report), None)
    return claims


def _claim(value: Any, held_by: HeldBy | None) -> Claim:
    return {"value": value, "bound": held_by is not None, "held_by": held_by}


def _firmware(pek: ChipCertificate) -> str:
    return f"{pek.firmware_major}.{pek.firmware_minor}"
