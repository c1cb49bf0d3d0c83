"""`ctestbed evidence make|show`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import StateDirOption, complete_vm, state_path

app = noun_app("evidence", help="Make and show attestation evidence.")


@command(
    app,
    "make",
    artefact=True,
    example="ctestbed evidence make a --nonce 0123456789abcdef -o ev.bin",
)
def make(
    name: Annotated[
        str, typer.Argument(metavar="VM", help="A launched VM.", autocompletion=complete_vm)
    ],
    nonce: Annotated[
        str | None, typer.Option(metavar="HEX", help="The verifier's nonce, up to 64 bytes.")
    ] = None,
    report_data: Annotated[
        str | None, typer.Option(metavar="HEX", help="What to bind: hex, or text:...")
    ] = None,
    state_dir: StateDirOption = None,
) -> Reply:
    """Have a VM ask its secure processor for a report; -o FILE also writes FILE.certs."""
    from ctestbed.tee.evidence import CERTS_SUFFIX, MakeEvidenceRequest, run_make_evidence

    request = MakeEvidenceRequest(state_path(state_dir), name, nonce, report_data)
    made = run_make_evidence(request)
    companions = {CERTS_SUFFIX: made.endorsements} if made.endorsements else {}
    return Reply(made.result, artefact=made.evidence, companions=companions)


@command(app, "show", example="ctestbed evidence show ev.bin")
def show(
    evidence: Annotated[str, typer.Argument(help="A report or certificate file, or - for stdin.")],
) -> Reply:
    """Show every field, where it lies, what it means and what is odd about it."""
    from ctestbed.evidence.commands import ShowRequest, run_show

    return Reply(run_show(ShowRequest(evidence)))
