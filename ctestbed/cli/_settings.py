"""Settings: flag, then `CTESTBED_*`, then `--config`, `./ctestbed.toml`, the user's, defaults."""

import os
from dataclasses import dataclass, fields
from pathlib import Path

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean


@dataclass(frozen=True, slots=True)
class Settings:
    """What a configuration file may say. None means: not said there."""

    format: str | None = None
    color: str | None = None
    state_dir: str | None = None


def config_files() -> list[Path]:
    """Return the files that are looked at, the strongest first."""
    named = os.environ.get("CTESTBED_CONFIG")
    from ctestbed.core.files import under_home

    base = os.environ.get("XDG_CONFIG_HOME") or str(under_home(".config"))
    files = [Path("ctestbed.toml"), Path(base) / "ctestbed" / "config.toml"]
    return [Path(named), *files] if named else files


def load_settings() -> tuple[Settings, dict[str, str]]:
    """Return the settings in force from files and environment, and each one's origin."""
    from ctestbed.core.files import is_file

    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    named = os.environ.get("CTESTBED_CONFIG")
    for path in reversed(config_files()):
        if not is_file(path):
            if named and path == Path(named):
                raise InputError(
                    "CTB-U001",
                    f"the configuration file {named!r} does not exist",
                    where=Where(file=named),
                    hint="check --config and CTESTBED_CONFIG",
                )
            continue
        for key, value in _read(path).items():
            values[key], origins[key] = value, str(path)
    for field in fields(Settings):
        variable = f"CTESTBED_{field.name.upper()}"
        if os.environ.get(variable):
            values[field.name], origins[field.name] = os.environ[variable], variable
    return Settings(**values), origins


def _read(path: Path) -> dict[str, str]:
    import tomllib

    known = [field.name for field in fields(Settings)]
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(
            "CTB-U002", f"{str(path)!r} is not readable TOML: {reason}", where=Where(file=str(path))
        ) from None
    for key, value in content.items():
        if key not in known:
            raise InputError(
                "CTB-U003",
                f"unknown setting `{key}`",
                where=Where(file=str(path), pointer=key),
                hint=did_you_mean(key, known),
            )
        if not isinstance(value, str):
            raise InputError(
                "CTB-U003",
                f"setting `{key}` must be text, not {value!r}",
                where=Where(file=str(path), pointer=key),
                hint=f'write it as `{key} = "..."`',
            )
    return content
