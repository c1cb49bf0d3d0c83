"""`ctestbed doctor`."""

import os

from ctestbed.cli._command import Reply, command, noun_app, single_verb
from ctestbed.cli._options import StateDirOption

app = noun_app("doctor", help="Check this machine and installation.")


@command(app, "doctor", example="ctestbed doctor")
def doctor(state_dir: StateDirOption = None) -> Reply:
    """Check Python, libraries, data, the state directory, and our crypto against gmssl's."""
    from ctestbed.bench.doctor import run_doctor

    return Reply(run_doctor(state_dir, os.environ))


single_verb(app)
