"""`ctestbed attest verify|roots`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import StateDirOption, state_path

app = noun_app("attest", help="Verify evidence; list and pin trust anchors.")


def _complete_roots(incomplete: str) -> list[str]:
    return [name for name in ("vendor", "emulated", "user") if name.startswith(incomplete)]


def _complete_action(incomplete: str) -> list[str]:
    return [name for name in ("list", "pin", "unpin") if name.startswith(incomplete)]


def _complete_check(incomplete: str) -> list[str]:
    from ctestbed.attestation.judge import CHECKS

    return [check.id for check in CHECKS if check.id.startswith(incomplete)]


@command(
    app,
    "verify",
    example="ctestbed attest verify ev.bin --roots emulated --nonce 0123456789abcdef",
)
def verify(
    evidence: Annotated[str, typer.Argument(help="The evidence file, or - for stdin.")],
    *,
    endorsements: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Certificates, in any order. Repeatable; EVIDENCE.certs if left out.",
        ),
    ] = None,
    roots: Annotated[
        str,
        typer.Option(
            help="Whom to trust: vendor, emulated, user, or a file of pins or root certificates.",
            autocompletion=_complete_roots,
        ),
    ] = "vendor",
    nonce: Annotated[
        str | None, typer.Option(metavar="HEX", help="The nonce that the report must carry.")
    ] = None,
    report_data: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="What the report must bind: hex, or text:..."),
    ] = None,
    measurement: Annotated[
        str | None, typer.Option(metavar="HEX", help="The launch measurement expected.")
    ] = None,
    allow_debug: Annotated[
        bool, typer.Option("--allow-debug", help="Accept a VM that its host may debug.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a warning too (exit 12).")
    ] = False,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="Fail unless this check was made and held. Repeatable.",
            autocompletion=_complete_check,
        ),
    ] = None,
    state_dir: StateDirOption = None,
) -> Reply:
    """Verify evidence and say what it proves, under pinned roots, offline."""
    from ctestbed.attestation.commands import VerifyRequest, run_verify

    request = VerifyRequest(
        evidence,
        tuple(endorsements or ()),
        roots,
        state_path(state_dir) if roots in {"emulated", "user"} else None,
        nonce,
        report_data,
        measurement,
        allow_debug,
        strict,
        tuple(require or ()),
    )
    return Reply(run_verify(request))


@command(app, "roots", example="ctestbed attest roots pin hrk.cert")
def roots(
    action: Annotated[
        str, typer.Argument(help="list, pin or unpin.", autocompletion=_complete_action)
    ] = "list",
    target: Annotated[
        str | None,
        typer.Argument(help="To pin: a root certificate file. To unpin: a fingerprint's start."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name the pinned root; its own identity if left out.")
    ] = None,
    state_dir: StateDirOption = None,
) -> Reply:
    """List trust anchors: the vendors', this testbed's emulated ones, and your own pins."""
    from ctestbed.attestation.roots.commands import RootsRequest, run_roots

    return Reply(run_roots(RootsRequest(state_path(state_dir), action, target, name)))
