"""The secure processor of an emulated CSV machine: launch, attestation, debugging.

Launch commands come in one order, START, UPDATE_DATA (any number), MEASURE, FINISH, and each is
refused in any other state. The launch digest is SM3 over the data of UPDATE_DATA, in order.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from hmac import compare_digest
from typing import Final

from cryptography.hazmat.primitives import hashes

from ctestbed.core.errors import InputError, PolicyRefusedError
from ctestbed.crypto.sm3 import hmac_sm3, sm3
from ctestbed.evidence.csv_certificate import ALGORITHM_SM2_SIGN
from ctestbed.evidence.csv_report import (
    NONCE_SIZE,
    POLICY_NODBG,
    SIGNER_USAGE,
    CSVReport,
    mac_input,
    signed_bytes,
)
from ctestbed.tee.csv_vendor import CSVChip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.images import BLOCK_SIZE
from ctestbed.tee.memory import KEY_SIZE, KeySlots, MemoryController

MNONCE_SIZE: Final = 16


class LaunchState(StrEnum):
    """How far the launch of a guest has come."""

    LAUNCHING = "launching"
    MEASURED = "measured"
    RUNNING = "running"


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


@dataclass(slots=True)
class _Guest:
    policy: int
    entropy: Entropy
    state: LaunchState = LaunchState.LAUNCHING
    digest: hashes.Hash = field(default_factory=lambda: hashes.Hash(hashes.SM3()))
    measurement: bytes = b""


class CSVFirmware:
    """The secure processor: it alone installs memory keys and signs reports."""

    def __init__(self, chip: CSVChip, controller: MemoryController, keys: KeySlots) -> None:
        """Take charge of a chip's identity and of a memory controller's key table."""
        self._chip = chip
        self._controller = controller
        self._keys = keys
        self._guests: dict[int, _Guest] = {}

    def launch_start(self, asid: int, policy: int, entropy: Entropy) -> None:
        """Make a guest: draw its memory key and install it for `asid`."""
        self._keys.install(asid, entropy.draw("memory key", KEY_SIZE))
        self._guests[asid] = _Guest(policy, entropy)

    def launch_update_data(self, asid: int, address: int, length: int) -> None:
        """Encrypt in place what the host loaded at a physical address, and measure it."""
        guest = self._guest("LAUNCH_UPDATE_DATA", asid, LaunchState.LAUNCHING)
        if address % BLOCK_SIZE or length % BLOCK_SIZE or not length:
            raise InputError(
                "CTB-M041",
                f"LAUNCH_UPDATE_DATA takes whole 16-byte blocks, not {length} at {address:#x}",
            )
        guest.digest.update(self._controller.encrypt_in_place(asid, address, length))

    def launch_measure(self, asid: int) -> bytes:
        """Close the measurement and return it: 32 bytes."""
        guest = self._guest("LAUNCH_MEASURE", asid, LaunchState.LAUNCHING)
        guest.measurement = guest.digest.finalize()
        guest.state = LaunchState.MEASURED
        return guest.measurement

    def launch_finish(self, asid: int) -> None:
        """Let the guest run."""
        self._guest("LAUNCH_FINISH", asid, LaunchState.MEASURED).state = LaunchState.RUNNING

    def resume(
        self, asid: int, policy: int, key: bytes, measurement: bytes, entropy: Entropy
    ) -> None:
        """Take a running guest back, as if the machine had never lost power.

        No such command exists: an emulated machine lives on between two processes.
        """
        self._keys.install(asid, key)
        self._guests[asid] = _Guest(policy, entropy, LaunchState.RUNNING, measurement=measurement)

    def decommission(self, asid: int) -> None:
        """Forget a guest and its key."""
        self._guests.pop(asid, None)
        self._keys.erase(asid)

    def debug_decrypt(self, asid: int, address: int, length: int) -> bytes:
        """Decrypt guest memory for the host.

        Raises:
            PolicyRefusedError: the guest's policy has NODBG.
        """
        if self._guest("DBG_DECRYPT", asid, LaunchState.RUNNING).policy & POLICY_NODBG:
            raise PolicyRefusedError(
                "CTB-M042", "DBG_DECRYPT is refused: the guest's policy has NODBG"
            )
        return self._controller.read_private(asid, address, length)

    def attestation(self, asid: int, request: AttestationRequest) -> CSVReport:
        """Answer a guest's request with a signed report.

        Raises:
            InputError: fields of another size, or a digest that is not SM3(data || mnonce).
        """
        guest = self._guest("ATTESTATION", asid, LaunchState.RUNNING)
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

    def _guest(self, command: str, asid: int, needed: LaunchState) -> _Guest:
        guest = self._guests.get(asid)
        if guest is None:
            raise InputError("CTB-M040", f"{command} is refused: key slot {asid} has no guest")
        if guest.state is not needed:
            raise InputError(
                "CTB-M040",
                f"{command} is refused: the guest is {guest.state}, not {needed}",
                hint="launch commands come as START, UPDATE_DATA, MEASURE, FINISH",
            )
        return guest
