"""A confidential VM brought up, attested and judged: where `tee` and `attestation` meet."""

from dataclasses import dataclass

from ctestbed.attestation.appraise.csv import CSVPolicy
from ctestbed.attestation.commands import VerifyData, judgement_data
from ctestbed.attestation.judge import Expectations, Judgement, Named, judge
from ctestbed.attestation.roots.pins import TrustSet, pins_of_certificates
from ctestbed.core.errors import ExitCode
from ctestbed.core.result import Finding
from ctestbed.crypto.sm3 import sm3
from ctestbed.evidence.report_data import ReportData
from ctestbed.tee.demonstration import CSVDemonstration, demonstrate_csv


@dataclass(frozen=True, slots=True)
class TrustOutcome:
    """The VM, what a verifier made of its evidence, and the code that decides."""

    vm: CSVDemonstration
    verdict: VerifyData
    findings: tuple[Finding, ...]
    exit_code: ExitCode


def attest_demonstration(seed: int, *, memory: int, image_size: int) -> TrustOutcome:
    """Launch a CSV VM on a seeded emulated machine, and verify its report as a stranger would.

    The verifier knows the root's fingerprint, its own nonce and the measurement of the image.
    """
    vm = demonstrate_csv(seed, memory=memory, image_size=image_size)
    judgement = judge_demonstration(vm)
    return TrustOutcome(
        vm, judgement_data(judgement), tuple(judgement.findings), judgement.exit_code
    )


def judge_demonstration(vm: CSVDemonstration) -> Judgement:
    """Verify and appraise a demonstration's report, trusting its own root and nothing else."""
    pins = pins_of_certificates(vm.root_certificate, "the testbed's emulated machine", "emulated")
    nonce = ReportData(vm.report_data, len(vm.report_data), "--nonce")
    return judge(
        Named("report", vm.report),
        [Named("endorsements", vm.endorsements)],
        TrustSet("emulated", tuple(pins)),
        Expectations(nonce, CSVPolicy(sm3(vm.image))),
    )
