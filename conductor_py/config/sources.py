"""Reading settings: flags before environment before file before defaults.

A key may be written as Conductor writes it, or as Spring forgives it: letter case, dashes and
underscores do not count. In the environment dots are underscores:
``conductor.app.ownerEmailMandatory`` is ``CONDUCTOR_APP_OWNEREMAILMANDATORY``. An empty value means
the default. ``KEY.file`` names a file that holds a secret. ``LOCAL_RACK`` and
``EC2_AVAILABILITY_ZONE`` name the shard where nothing else does. What begins with ``conductor.``
and is not known is refused, and so is a value that is wrong, with its place and what would be
right; what configures something else is left alone, and named.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from conductor_py.config.foreign import is_of_the_start, is_without_effect, meant_by
from conductor_py.config.secret_files import SUFFIX, others_read, read_secret
from conductor_py.config.settings import Declared, Settings, declared, sections
from conductor_py.config.stores import Redis
from conductor_py.errors import ConfigurationError
from conductor_py.records import dataclass

_PREFIX: Final = "conductor."
_ENVIRONMENT_PREFIX: Final = "CONDUCTOR_"
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_SEPARATOR: Final = re.compile(r"(?<!\\)(?:[=:]\s*|\s+(?:[=:]\s*)?)")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")
_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::([^}]*))?\}")
#: Variables that belong to clients, to secrets, or to this program's own start.
_NOT_SETTINGS: Final = re.compile(
    r"CONDUCTOR_(?:SECRET_.*|ENV_.*|AUTH_.*|SERVER_URL|CLIENT_.*|WORKER_.*|GUI_.*|CONFIG|HOME)"
)
#: What Kubernetes adds for a service that is named conductor or conductor-something.
_SERVICE_VARIABLE: Final = re.compile(
    r".*_SERVICE_(?:HOST|PORT(?:_\w+)?)|.*_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)"
)
_SERVICE_VALUE: Final = re.compile(r"(?:tcp|udp|sctp)://\S+")
#: Variables of other servers that mean one of our settings, and the unit of their numbers.
_ALIASES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS": ("conductor.scripts.timeLimit", "s")}
)
#: Keys that Conductor's pages give to one of our settings beside that of its code.
_OTHER_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"conductor.zookeeper-lock.{name}Ms": f"conductor.zookeeper-lock.{name}"
        for name in ("sessionTimeout", "connectionTimeout")
    }
)
#: Types of locks as they are written here; letter case does not count.
_LOCK_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "redis": "redis",
        "zookeeper": "zookeeper",
        "local_only": "local_only",
        "none": "none",
        "noop_lock": "none",
    }
)
#: Variables in which machines say where they stand, and the setting that this names otherwise.
_PLACES: Final = ("LOCAL_RACK", "EC2_AVAILABILITY_ZONE")
_SHARDS: Final = "conductor.redis.shards"
_ZONE: Final = "conductor.redis.availabilityZone"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """A value as written, and where: ``place`` is for people."""

    key: str
    value: str
    place: str
    is_file: bool = False
    separator: str = "="


def load(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    flags: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Read all sources and return the settings.

    ``flags`` are keys and values of the command line. Raises ConfigurationError, with one sentence
    for everything that is wrong.
    """
    lines = tuple(_lines(file))
    found = [*_from_file(lines, environment), *_from_environment(environment), *_from_flags(flags)]
    found += _from_place(environment, {_normal(each.key) for each in found if each.value.strip()})
    known = {_normal(each.setting.key): each for each in declared()}
    known |= {_normal(other): known[_normal(key)] for other, key in _OTHER_KEYS.items()}
    files = {_normal(key + SUFFIX): _normal(key) for key in _from_files()}
    given: dict[str, _Given] = {}
    without_effect: list[str] = []
    problems: list[str] = []
    for each in found:
        name = files.get(_normal(each.key), _normal(each.key))
        if name in known:
            problems += _twice(given.get(name), each)
            given[name] = replace(each, is_file=_normal(each.key) in files)
        elif is_without_effect(each.key):
            without_effect.append(each.key)
        else:
            problems.append(f"{each.place}: there is no setting {each.key}{_hint(each.key, known)}")
    values: dict[str, dict[str, object]] = {name: {} for name, _ in sections()}
    for name, each in given.items():
        place = known[name]
        try:
            if each.value.strip():
                values[place.section][place.attribute] = place.setting.parse(_value(each))
        except ConfigurationError as unread:
            problems.append(unread.message)
        except ValueError as right:
            hides = place.setting.is_credential or each.is_file
            shown = "the value" if hides else repr(each.value)
            problems.append(
                f"{each.place}: {shown} of {place.setting.key} is not right; use {right}"
            )
    if problems:
        raise ConfigurationError("\n".join(problems))
    by_key = {known[name].setting.key: each for name, each in given.items()}
    checked = _checked(values, by_key, without_effect)
    return replace(checked, ignored=tuple(_ignored(lines, known)))


def environment_of(settings: Settings) -> dict[str, str]:
    """Return what was configured as variables, so that a child process reads the same settings."""
    return {environment_name(key): value for key, value in settings.given.items()}


def environment_name(key: str) -> str:
    """Return the variable that sets a key."""
    return re.sub(r"[.]", "_", key.replace("-", "")).upper()


def _checked(
    values: Mapping[str, Mapping[str, object]],
    given: Mapping[str, _Given],
    without_effect: list[str],
) -> Settings:
    built: dict[str, Any] = {name: kind(**values[name]) for name, kind in sections()}
    settings = Settings(
        **built,
        given=MappingProxyType(
            {key + SUFFIX * g.is_file: g.value for key, g in given.items() if g.value}
        ),
        without_effect=tuple(dict.fromkeys(without_effect)),
        open_files=tuple(
            g.value for g in given.values() if g.is_file and g.value and others_read(Path(g.value))
        ),
    )
    redis = settings.redis
    if (redis.hosts or redis.socket) and "conductor.db.type" not in settings.given:
        settings = replace(settings, redis=replace(redis, type="redis_standalone"))
    lock = settings.lock.type if settings.app.locking else "none"
    lock = _LOCK_TYPES.get(lock.lower(), lock)
    if lock != settings.lock.type:
        settings = replace(settings, lock=replace(settings.lock, type=lock))
    problems = list(_contradictions(settings))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return settings


def _contradictions(settings: Settings) -> Iterator[str]:
    redis, payloads = settings.redis, settings.payloads
    if redis.type != "embedded" and not (redis.hosts or redis.socket):
        yield f"conductor.db.type is {redis.type}: name its nodes in conductor.redis.hosts"
    if redis.hosts and redis.socket:
        yield "conductor.redis.hosts and conductor.redis.socket exclude each other; give one"
    yield from _several_servers(redis, settings.effects.redis_url)
    index = settings.index
    if index.retention_ms and index.retention_ms <= index.archive_delay_s * 1000:
        yield (
            "conductor.archive.retention must be longer than "
            "conductor.workflow-status-listener.archival.delaySeconds"
        )
    for what in ("workflow_input", "workflow_output", "task_input", "task_output"):
        soft, hard = (getattr(payloads, f"{what}_{limit}_bytes") for limit in ("soft", "hard"))
        if soft > hard:
            keys = [
                each.setting.key
                for each in declared()
                if each.section == "payloads" and each.attribute.startswith(what)
            ]
            yield f"{keys[0]} must not be larger than {keys[1]}"


def _several_servers(redis: Redis, effects_url: str) -> Iterator[str]:
    """What does not go with a cluster or with Sentinel."""
    if redis.type in {"redis_cluster", "redis_sentinel"} and redis.socket:
        yield f"conductor.db.type is {redis.type}: name its nodes in conductor.redis.hosts"
    if redis.type == "redis_cluster" and redis.database:
        yield "conductor.redis.database must be 0 with a cluster, which has no others"
    if redis.type == "redis_cluster" and not effects_url:
        yield (
            "conductor.effects.redisUrl must name a Redis of its own: the job queue cannot be in a "
            "cluster"
        )


def _from_files() -> Iterator[str]:
    """The keys of settings that a file can give."""
    return (each.setting.key for each in declared() if each.setting.is_credential)


def _value(given: _Given) -> str:
    return read_secret(Path(given.value), given.place) if given.is_file else given.value


def _twice(before: _Given | None, each: _Given) -> Iterator[str]:
    """What is wrong when one source gives a value and a file."""
    if before is None or _normal(before.key) == _normal(each.key):
        return
    if before.place.split()[0] == each.place.split()[0] and before.value and each.value:
        yield f"{each.place}: {before.key} and {each.key} are both given; one of them is enough"


def _from_flags(flags: Mapping[str, str]) -> Iterator[_Given]:
    for key, value in flags.items():
        yield _Given(key=key, value=value, place=f"flag {key}")


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Given]:
    by_variable = {_normal(each.setting.key): each.setting.key for each in declared()}
    by_variable |= {_normal(key + SUFFIX): key + SUFFIX for key in _from_files()}
    for name, value in sorted(environment.items()):
        if not name.startswith(_ENVIRONMENT_PREFIX) or _is_not_ours(name, value):
            continue
        place = f"environment variable {name}"
        if name in _ALIASES:
            key, unit = _ALIASES[name]
            yield _Given(key=key, value=value and f"{value}{unit}", place=place)
            continue
        key = by_variable.get(_normal(name), name.lower().replace("_", "."))
        yield _Given(key=key, value=value, place=place)


def _from_place(environment: Mapping[str, str], configured: set[str]) -> Iterator[_Given]:
    """Name the shard after where this machine stands, unless the configuration does."""
    if _normal(_SHARDS) in configured or _normal(_ZONE) in configured:
        return
    for name in _PLACES:
        if environment.get(name, "").strip():
            yield _Given(key=_SHARDS, value=environment[name], place=f"environment variable {name}")
            return


def _is_not_ours(name: str, value: str) -> bool:
    return bool(
        _NOT_SETTINGS.fullmatch(name)
        or _SERVICE_VARIABLE.fullmatch(name)
        or _SERVICE_VALUE.fullmatch(value)
    )


def _lines(file: Path | None) -> Iterator[_Given]:
    """The lines of a file as they are written there; one without a separator has no value."""
    if file is None:
        return
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not UTF-8 text") from error
    for number, line in _logical_lines(lines):
        key, separator, value = _split(line)
        place = f"{file}, line {number}"
        yield _Given(key=key, value=value, place=place, separator=separator)


def _from_file(lines: Iterable[_Given], environment: Mapping[str, str]) -> Iterator[_Given]:
    for each in lines:
        if each.key.lower().startswith(_PREFIX):
            yield replace(each, value=_resolve(each.value, environment, each.place))


def _ignored(lines: Iterable[_Given], known: Mapping[str, Declared]) -> Iterator[str]:
    """What is said of lines that configure nothing here: never what stands behind a key, nor a key
    that may be a piece of a secret, as a line of Base64 is that ends in ``=``.
    """
    for each in lines:
        if each.key.lower().startswith(_PREFIX):
            continue
        if not each.separator:
            yield f"{each.place}: this is no KEY=VALUE, and ignored"
            continue
        ours = _meant(each.key, known)
        where = "in files" if each.key.startswith(_ENVIRONMENT_PREFIX) else "here"
        hint = f"; {where} it is {ours}" if ours else ""
        shown = each.key if ours or _is_key(each) else "this"
        yield f"{each.place}: {shown} is no setting of this server, and ignored{hint}"


def _is_key(given: _Given) -> bool:
    """Whether a key that means nothing here is one all the same."""
    key = given.key
    if is_of_the_start(key):
        return True
    is_word = _KEY.fullmatch(key) is not None and not given.separator.isspace()
    return is_word and ("." in key or key.startswith((_ENVIRONMENT_PREFIX, "conductor")))


def _meant(key: str, known: Mapping[str, Declared]) -> str:
    """Our setting that a key means as Spring has it, without its prefix or as a variable; empty
    when there is none.
    """
    if meant := meant_by(key) or _ALIASES.get(key, ("", ""))[0]:
        return meant
    by_name = {name: each.setting.key for name, each in known.items()}
    by_name |= {_normal(secret + SUFFIX): secret + SUFFIX for secret in _from_files()}
    return by_name.get(_normal(_PREFIX + key)) or by_name.get(_normal(key), "")


def _logical_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Join lines that end in an odd number of backslashes; leave out comments and blanks."""
    whole, first = "", 0
    for number, line in enumerate(lines, 1):
        part = line.lstrip()
        if not whole and (not part or part[0] in "#!"):
            continue
        first = first if whole else number
        if (len(part) - len(part.rstrip("\\"))) % 2:
            whole += part[:-1]
            continue
        yield first, whole + part
        whole = ""
    if whole:
        yield first, whole


def _split(line: str) -> tuple[str, str, str]:
    match = _SEPARATOR.search(line)
    if match is None:
        return _unescape(line.strip()), "", ""
    key, value = line[: match.start()], line[match.end() :]
    return _unescape(key), match.group(), _unescape(value.rstrip())


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(plain, text)


def _resolve(value: str, environment: Mapping[str, str], place: str) -> str:
    """Put in the variables that ``${NAME}`` and ``${NAME:otherwise}`` name."""

    def variable(match: re.Match[str]) -> str:
        name, otherwise = match.groups()
        if name in environment:
            return environment[name]
        if otherwise is None:
            raise ConfigurationError(f"{place}: the environment has no variable {name}")
        return str(otherwise)

    return _PLACEHOLDER.sub(variable, value)


def _normal(key: str) -> str:
    return re.sub(r"[._-]", "", key).lower()


def _hint(key: str, known: Mapping[str, Declared]) -> str:
    close = difflib.get_close_matches(_normal(key), known, n=1, cutoff=0.8)
    return f"; did you mean {known[close[0]].setting.key}?" if close else ""
