"""`ctestbed config show|path`."""

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._settings import config_files, load_settings

app = noun_app("config", help="Show settings and where they come from.")


@command(app, "show", example="ctestbed config show")
def show() -> Reply:
    """Show every setting in force, and what set it."""
    from ctestbed.bench.settings_data import run_config_show

    settings, origins = load_settings()
    values = {"format": settings.format, "color": settings.color, "state_dir": settings.state_dir}
    return Reply(run_config_show(values, origins))


@command(app, "path", example="ctestbed config path")
def path() -> Reply:
    """List the configuration files that are looked at, the strongest first."""
    from ctestbed.bench.settings_data import run_config_path
    from ctestbed.core.files import is_file

    return Reply(run_config_path([(str(item), is_file(item)) for item in config_files()]))
