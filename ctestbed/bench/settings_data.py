"""The settings in force, as a report."""

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from ctestbed.core.result import Result


class SettingEntry(TypedDict):
    """One setting: its value and the file or variable that set it, or `default`."""

    name: str
    value: str | None
    origin: str


class ConfigShowData(TypedDict):
    """The data of `ctestbed.config.show/1`."""

    settings: list[SettingEntry]


class ConfigFileEntry(TypedDict):
    """A configuration file that is looked at."""

    path: str
    exists: bool


class ConfigPathData(TypedDict):
    """The data of `ctestbed.config.path/1`."""

    files: list[ConfigFileEntry]


def run_config_show(values: Mapping[str, str | None], origins: Mapping[str, str]) -> Result:
    """Report each setting with its origin."""
    settings = [
        SettingEntry(name=name, value=value, origin=origins.get(name, "default"))
        for name, value in values.items()
    ]
    return Result("ctestbed.config.show/1", {"settings": settings})


def run_config_path(files: Sequence[tuple[str, bool]]) -> Result:
    """Report the files in order of strength."""
    entries = [ConfigFileEntry(path=path, exists=exists) for path, exists in files]
    return Result("ctestbed.config.path/1", {"files": entries})
