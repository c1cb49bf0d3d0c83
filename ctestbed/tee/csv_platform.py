"""The secure processor of an emulated CSV machine, which also signs reports for its guests."""

from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm3 import hmac_sm3, sm3
from ctestbed.evidence.csv_certificate import ALGORITHM_SM2_SIGN
from ctestbed.evidence.csv_report import (
    NONCE_SIZE,
    SIGNER_USAGE,
    CSVReport,
    mac_input,
    signed_bytes,
)
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.csv_vendor import CSVChip
from ctestbed.tee.firmware.csv import CsvFirmware
from ctestbed.tee.firmware.sev import GuestState

MNONCE_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class AttestationRequest:
    """What a guest hands to the secure processor: data, a fresh mnonce, SM3 over both."""

    data: bytes
    mnonce: bytes
    digest: bytes

    @classmethod
    def of(cls, data: bytes, mnonce: bytes) -> "AttestationRequest":
        """Make a request as a guest's driver does: 64 bytes of data, 16 of mnonce."""
        return cls(data, mnonce, sm3(data + mnonce))


class CSVFirmware(CsvFirmware):
    """The secure processor: it alone installs memory keys and signs reports."""

    def __init__(self, chip: CSVChip, controller: MemoryController) -> None:
        """Take charge of a chip's identity and of a memory controller."""
        super().__init__(controller)
        self._chip = chip

    def attestation(self, handle: int, request: AttestationRequest) -> CSVReport:
        """Answer a guest's request with a signed report.

        Raises:
            InputError: fields of another size, or a digest that is not SM3(data || mnonce).
        """
        guest = self.context("ATTESTATION", handle, GuestState.RUNNING)
        if len(request.data) != NONCE_SIZE or len(request.mnonce) != MNONCE_SIZE:
            raise InputError(
                "CTB-M043", f"a request has {NONCE_SIZE} bytes of data and {MNONCE_SIZE} of mnonce"
            )
        if not compare_digest(sm3(request.data + request.mnonce), request.digest):
            raise InputError("CTB-M043", "the request's digest is not SM3 over data and mnonce")
        use = f"report {request.data.hex()} {request.mnonce.hex()}"
        report = CSVReport(
            user_pubkey_digest=bytes(32),
            vm_id=bytes(16),
            vm_version=bytes(16),
            report_data=request.data,
            mnonce=request.mnonce,
            measure=guest.measurement,
            policy=guest.policy,
            signature_usage=SIGNER_USAGE,
            signature_algorithm=ALGORITHM_SM2_SIGN,
            anonce=int.from_bytes(guest.entropy.draw(f"{use} anonce", 4), "little"),
            r=0,
            s=0,
            pek=self._chip.pek,
            serial=self._chip.serial,
            reserved=guest.entropy.draw(f"{use} reserved", 32),
            mac=bytes(32),
        )
        signature = self._chip.sign("PEK", signed_bytes(report))
        return replace(
            report,
            r=signature.r,
            s=signature.s,
            mac=hmac_sm3(request.mnonce, mac_input(report)),
        )
