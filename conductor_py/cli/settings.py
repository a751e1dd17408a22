"""Options that are settings: a flag says its variable and its default, and wins over both."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import unquote, urlsplit

import click

from conductor_py.config import RedisHost, Settings, environment_name, load
from conductor_py.config.settings import declared
from conductor_py.errors import ConfigurationError

Command = TypeVar("Command", bound=Callable[..., Any])

_REDIS_PORT: Final = 6379
_HOSTS: Final = "conductor.redis.hosts"
_CONFIG_VARIABLE: Final = "CONDUCTOR_CONFIG"


def setting(flag: str, key: str) -> Callable[[Command], Command]:
    """Make an option of a setting; its value arrives under the key, its dots as underscores.

    That of a flag has no value: it says true.
    """
    (found,) = (each.setting for each in declared() if each.setting.key == key)
    default = f"  [default: {found.default}]" if found.default else ""
    if found.kind == "flag":
        return click.option(
            flag,
            _parameter(key),
            flag_value="true",
            default=None,
            help=f"{found.sentence}  [env var: {environment_name(key)}]{default}",
        )
    return click.option(
        flag,
        _parameter(key),
        metavar="VALUE",
        help=f"{found.sentence}  [env var: {environment_name(key)}]{default}",
    )


def configured(command: Command) -> Command:
    """Add the options that every process has."""
    options = (
        click.option(
            "--config",
            "file",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            envvar=_CONFIG_VARIABLE,
            show_envvar=True,
            help="A file of settings, as `conductor-py config example` prints one.",
        ),
        click.option(
            "--redis",
            metavar="URL",
            help="The Redis to use: redis://[user:password@]host[:port][/database], rediss:// for "
            "TLS, or unix:///path.  [env var: CONDUCTOR_REDIS_HOSTS or CONDUCTOR_REDIS_SOCKET]",
        ),
        click.option(
            "--set",
            "further",
            metavar="KEY=VALUE",
            multiple=True,
            help="Any setting by its key.  [env var: the key in capitals, dots as underscores]",
        ),
        click.option("--server-name", hidden=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read(given: Mapping[str, Any]) -> Settings:
    """Load the settings from the options of a command, the environment and the file."""
    flags = {
        each.setting.key: value
        for each in declared()
        if (value := given.get(_parameter(each.setting.key))) is not None
    }
    if given["redis"]:
        flags |= _redis(given["redis"])
    for pair in given["further"]:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(f"--set {pair} is not KEY=VALUE")
        flags[key.strip()] = value
    _warn_of_secrets(given["redis"] or "", flags)
    return load(file=given["file"], environment=os.environ, flags=flags)


def _warn_of_secrets(redis: str, flags: Mapping[str, str]) -> None:
    """Say which words of the command are secrets that every user of the machine can list."""
    settings = [each.setting for each in declared()]
    secret = {setting.key for setting in settings if setting.secret or setting.secret_path}
    seen = sorted(key for key in flags.keys() & secret if key != _HOSTS)
    if urlsplit(redis).password:
        seen.append("the password of --redis")
    elif _hold_a_password(flags.get(_HOSTS, "")):
        seen.append(_HOSTS)
    for each in seen:
        click.echo(
            f"{each} stands in the command line, which every user of this machine can read: give "
            "it in the file of --config, in a file of its own (KEY.file), or as a variable.",
            err=True,
        )


def _hold_a_password(hosts: str) -> bool:
    setting = next(each.setting for each in declared() if each.setting.key == _HOSTS)
    with suppress(ValueError):
        return any(host.password for host in cast("tuple[RedisHost, ...]", setting.parse(hosts)))
    return False


def _parameter(key: str) -> str:
    return key.replace(".", "_").replace("-", "_").lower()


def _redis(url: str) -> dict[str, str]:
    """Take a URL apart into the settings that it stands for."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return {"conductor.redis.socket": unquote(parts.path)}
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        raise ConfigurationError("--redis wants redis://host:port/database or unix:///path")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    password = f"::{unquote(parts.password)}" if parts.password else ""
    found = {_HOSTS: f"{host}:{parts.port or _REDIS_PORT}{password}"}
    if parts.username:
        found["conductor.redis.user"] = unquote(parts.username)
    if parts.scheme == "rediss":
        found["conductor.redis.ssl"] = "true"
    if parts.path.strip("/"):
        found["conductor.redis.database"] = parts.path.strip("/")
    return found
