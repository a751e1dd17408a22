"""Settings: where they come from, what they refuse, and that all of them are documented."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from conductor_py.config import (
    RedisHost,
    Settings,
    environment_name,
    environment_of,
    example,
    load,
)
from conductor_py.config.foreign import _MEANT, is_without_effect
from conductor_py.config.settings import declared
from conductor_py.errors import ConfigurationError
from conductor_py.model.codes import CodeLayout

_EXAMPLE = Path(__file__).parents[2] / "config.properties.example"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.properties"


def _refusal(**sources: object) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(**sources)  # type: ignore[arg-type]
    return refused.value.message


def test_without_any_source_everything_has_its_default() -> None:
    settings = load()

    assert settings == Settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8080)
    assert settings.app.lock_lease_ms == 3_000
    assert settings.app.fencing is True
    assert settings.app.owner_email_mandatory is False
    assert settings.lock.type == "redis"
    assert settings.redis.sharding_strategy == "roundRobin"
    assert settings.redis.partitions == 1


def test_codes_are_laid_out_as_a_setting_says() -> None:
    assert str(load().app.code_layout) == "41/6/6"
    flags = {"conductor.app.codeLayout": "41/10/12"}
    assert load(flags=flags).app.code_layout == CodeLayout(worker_bits=10, sequence_bits=12)


@pytest.mark.parametrize("text", ["41", "41/6", "41/0/6", "41/12/12", "forty/six/six"])
def test_what_is_no_layout_of_codes_is_refused(text: str) -> None:
    said = _refusal(flags={"conductor.app.codeLayout": text})
    assert f"'{text}' of conductor.app.codeLayout is not right" in said
    assert "such as 41/6/6" in said


def test_payload_limits_have_the_defaults_of_conductor() -> None:
    payloads = Settings().payloads

    assert payloads.workflow_input_soft_bytes == 5_120 * 1_024
    assert payloads.workflow_output_soft_bytes == 5_120 * 1_024
    assert payloads.task_input_soft_bytes == 3_072 * 1_024
    assert payloads.task_output_soft_bytes == 3_072 * 1_024
    assert payloads.task_output_hard_bytes == 10_240 * 1_024
    assert payloads.workflow_variables_hard_bytes == 256 * 1_024


def test_flags_win_over_environment_and_that_over_the_file(file: Path) -> None:
    file.write_text(
        "conductor.server.port=1001\nconductor.server.workers=2\nconductor.server.host=a\n"
    )
    environment = {"CONDUCTOR_SERVER_PORT": "1002", "CONDUCTOR_SERVER_WORKERS": "3"}
    flags = {"conductor.server.port": "1003"}

    server = load(file=file, environment=environment, flags=flags).server

    assert (server.port, server.workers, server.host) == (1003, 3, "a")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("conductor.app.ownerEmailMandatory", "CONDUCTOR_APP_OWNEREMAILMANDATORY"),
        ("conductor.external-payload-storage.type", "CONDUCTOR_EXTERNALPAYLOADSTORAGE_TYPE"),
    ],
)
def test_a_variable_has_underscores_for_dots_and_no_dashes(name: str, variable: str) -> None:
    assert environment_name(name) == variable


def test_every_setting_can_be_given_by_its_variable() -> None:
    for each in declared():
        name = environment_name(each.setting.key)
        value = each.setting.default or "given"
        if each.setting.kind == "hosts":
            value = "host:6379:rack"
        if each.attribute == "socket":
            continue  # excludes hosts

        settings = load(environment={name: value})

        assert settings.given == {each.setting.key: value}
        assert settings.without_effect == ()


@pytest.mark.parametrize(
    "variable", ["CONDUCTOR_APP_OWNER_EMAIL_MANDATORY", "CONDUCTOR_APP_OWNEREMAILMANDATORY"]
)
def test_underscores_in_a_variable_do_not_count(variable: str) -> None:
    assert load(environment={variable: "true"}).app.owner_email_mandatory is True


def test_keys_of_a_file_may_be_written_as_spring_forgives(file: Path) -> None:
    file.write_text("conductor.app.owner-email-mandatory=true\n")

    assert load(file=file).app.owner_email_mandatory is True


@pytest.mark.parametrize(
    ("environment", "shards"),
    [
        ({}, ()),
        ({"LOCAL_RACK": "east", "EC2_AVAILABILITY_ZONE": "us-east-1c"}, ("east",)),
        ({"EC2_AVAILABILITY_ZONE": "us-east-1c"}, ("us-east-1c",)),
        ({"LOCAL_RACK": " ", "EC2_AVAILABILITY_ZONE": "us-east-1c"}, ("us-east-1c",)),
        ({"LOCAL_RACK": "east", "CONDUCTOR_REDIS_SHARDS": "a,b"}, ("a", "b")),
        ({"LOCAL_RACK": "east", "CONDUCTOR_REDIS_SHARDS": ""}, ("east",)),
        ({"LOCAL_RACK": "east", "CONDUCTOR_REDIS_AVAILABILITYZONE": "r2"}, ()),
    ],
)
def test_a_shard_is_named_after_the_rack_unless_the_configuration_names_one(
    environment: dict[str, str], shards: tuple[str, ...]
) -> None:
    assert load(environment=environment).redis.shards == shards


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LOCAL_RACK", "rack 1"),
        ("EC2_AVAILABILITY_ZONE", "us east"),
        ("CONDUCTOR_REDIS_SHARDS", "east,south west"),
        ("CONDUCTOR_REDIS_SHARDS", "östlich"),
        ("CONDUCTOR_REDIS_AVAILABILITYZONE", "zone\t1"),
        ("CONDUCTOR_REDIS_HOSTS", "one:1:r1;two:2:rack 2"),
        ("CONDUCTOR_REDIS_HOSTS", "one:1: r1:password"),
    ],
)
def test_a_name_that_a_record_would_not_give_back_is_refused(variable: str, value: str) -> None:
    refused = _refusal(environment={variable: value})

    shown = "the value" if variable.endswith("HOSTS") else repr(value)  # hosts have passwords
    assert refused.startswith(f"environment variable {variable}: {shown} of conductor.redis.")
    assert refused.endswith("of letters, digits, '-', '_', '.' and ':', without blanks")
    assert "\n" not in refused


def test_names_of_shards_may_have_the_marks_that_machines_are_named_with() -> None:
    given = {"CONDUCTOR_REDIS_SHARDS": " us-east-1c , rack_2,a.b:7379"}
    assert load(environment=given).redis.shards == ("us-east-1c", "rack_2", "a.b:7379")


def test_the_variable_of_the_script_limit_is_in_seconds() -> None:
    environment = {"CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS": "7"}

    assert load(environment=environment).scripts.time_limit_ms == 7_000


def test_a_file_is_read_as_java_reads_properties(file: Path) -> None:
    file.write_text(
        "# a comment\n! another\n\n"
        "  conductor.server.host : 0.0.0.0  \n"
        "conductor.server.port 9000\n"
        "conductor.redis.hosts=one:1:r1;\\\n    two:2:r2\n"
        "conductor.redis.user=a\\=b\\u0041\\\\\n"
        "conductor.elasticsearch.url=http://x:9200?a=b\n"
        "conductor.redis.availabilityZone=\n"
        "server.port=7\nspring.profiles=any\n"
    )

    settings = load(file=file)

    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 9000)
    assert settings.redis.hosts == (
        RedisHost(host="one", port=1, rack="r1"),
        RedisHost(host="two", port=2, rack="r2"),
    )
    assert settings.redis.user == "a=bA\\"
    assert settings.index.url == "http://x:9200?a=b"
    assert settings.redis.availability_zone == "us-east-1c"


def test_a_value_may_name_variables_of_the_environment(file: Path) -> None:
    file.write_text(
        "conductor.elasticsearch.password=${SEARCH_PASSWORD}\n"
        "conductor.server.host=${HOST_NAME:localhost}\n"
    )

    settings = load(file=file, environment={"SEARCH_PASSWORD": "s3cret"})

    assert settings.index.password == "s3cret"
    assert settings.server.host == "localhost"
    assert "line 1: the environment has no variable SEARCH_PASSWORD" in _refusal(file=file)


@pytest.mark.parametrize(
    ("text", "value_ms"),
    [
        ("250", 250),
        ("250ms", 250),
        ("2s", 2_000),
        ("2 S", 2_000),
        ("3m", 180_000),
        ("1h", 3_600_000),
        ("1d", 86_400_000),
        ("PT1M30S", 90_000),
        ("PT0.5S", 500),
    ],
)
def test_durations(text: str, value_ms: int) -> None:
    flags = {"conductor.server.longPollLimit": text}

    assert load(flags=flags).server.long_poll_limit_ms == value_ms


def test_a_bare_number_is_in_the_unit_of_its_key() -> None:
    flags = {
        "conductor.app.activeWorkerLastPollTimeout": "20",
        "conductor.app.lockLeaseTime": "2000",
        "conductor.app.taskOutputPayloadSizeThreshold": "100",
        "conductor.server.bodyLimit": "100000",
    }

    settings = load(flags=flags)

    assert settings.app.active_worker_ms == 20_000
    assert settings.app.lock_lease_ms == 2_000
    assert settings.payloads.task_output_soft_bytes == 100 * 1_024
    assert settings.server.body_bytes == 100_000


@pytest.mark.parametrize(
    ("text", "size"), [("512B", 512), ("5120KB", 5_242_880), ("1 mb", 1 << 20), ("2GB", 2 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    flags = {"conductor.app.maxWorkflowVariablesPayloadSizeThreshold": text}

    assert load(flags=flags).payloads.workflow_variables_hard_bytes == size


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("redis:6379:us-east-1c", [("redis", 6379, "us-east-1c", "")]),
        ("redis:6379:r:pa:ss", [("redis", 6379, "r", "pa:ss")]),
        ("[::1]:6379", [("::1", 6379, "", "")]),
        (" a:1:r ; b:2:r ; ", [("a", 1, "r", ""), ("b", 2, "r", "")]),
    ],
)
def test_redis_hosts(text: str, hosts: list[tuple[str, int, str, str]]) -> None:
    found = load(flags={"conductor.redis.hosts": text}).redis.hosts

    assert [(each.host, each.port, each.rack, each.password) for each in found] == hosts


def test_named_hosts_are_used_without_saying_so_twice() -> None:
    assert load(flags={"conductor.redis.hosts": "a:1:r"}).redis.type == "redis_standalone"
    assert load(flags={"conductor.redis.socket": "redis.sock"}).redis.type == "redis_standalone"
    own = {"conductor.redis.hosts": "a:1:r", "conductor.db.type": "embedded"}
    assert load(flags=own).redis.type == "embedded"


def test_locking_switched_off_is_the_lock_type_none() -> None:
    flags = {"conductor.app.workflowExecutionLockEnabled": "false"}

    assert load(flags=flags).lock.type == "none"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("redis", "redis"),
        ("Redis", "redis"),
        ("LOCAL_ONLY", "local_only"),
        ("zookeeper", "zookeeper"),
        ("noop_lock", "none"),
        ("Ours", "Ours"),
    ],
)
def test_types_of_locks_are_written_as_conductor_writes_them(written: str, meant: str) -> None:
    flags = {"conductor.workflow-execution-lock.type": written}

    assert load(flags=flags).lock.type == meant


@pytest.mark.parametrize("suffix", ["", "Ms"])
def test_both_of_conductors_keys_for_the_times_of_zookeeper_are_known(suffix: str) -> None:
    flags = {
        f"conductor.zookeeper-lock.sessionTimeout{suffix}": "7000",
        f"conductor.zookeeper-lock.connectionTimeout{suffix}": "900",
    }

    settings = load(flags=flags)

    assert settings.lock.zookeeper_session_ms == 7_000
    assert settings.lock.zookeeper_connect_ms == 900
    assert settings.without_effect == ()
    assert "conductor.zookeeper-lock.sessionTimeout" in settings.given


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("conductor.server.port", "http", "a whole number"),
        ("conductor.server.port", "0", "at least 1"),
        ("conductor.server.port", "70000", "at most 65535"),
        ("conductor.app.fencing.enabled", "maybe", "true or false"),
        ("conductor.app.lockLeaseTime", "3 parsecs", "a duration: 500ms, 60s"),
        ("conductor.app.lockLeaseTime", "1ms", "at least 500ms"),
        ("conductor.scripts.memoryLimit", "64 apples", "a size such as 512B"),
        ("conductor.db.type", "cassandra", "one of embedded, redis_standalone, redis_cluster"),
        ("conductor.redis.queueShardingStrategy", "random", "one of roundRobin, localOnly"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(
    file: Path, key: str, value: str, right: str
) -> None:
    file.write_text(f"\n{key}={value}\n")
    variable = environment_name(key)

    by_file = _refusal(file=file)
    by_variable = _refusal(environment={variable: value})
    by_flag = _refusal(flags={key: value})

    assert by_file.startswith(f"{file}, line 2: {value!r} of {key} is not right; use {right}")
    assert by_variable.startswith(f"environment variable {variable}: {value!r} of {key}")
    assert by_flag.startswith(f"flag {key}: {value!r} of {key}")


def test_a_wrong_secret_is_not_repeated() -> None:
    message = _refusal(flags={"conductor.redis.hosts": "redis:s3cret"})

    assert "s3cret" not in message
    assert "host:port:rack[:password]" in message


def test_secrets_are_in_no_representation() -> None:
    settings = load(
        flags={
            "conductor.redis.hosts": "redis:6379:r:s3cret",
            "conductor.elasticsearch.password": "s3cret",
            "conductor.external-payload-storage.s3.secretKey": "s3cret",
        }
    )

    assert settings.redis.hosts[0].password == "s3cret"
    assert "s3cret" not in repr(settings)


def test_an_unknown_key_is_refused_with_a_guess(file: Path) -> None:
    file.write_text("conductor.app.ownerEmailMandatry=true\n")
    variable = "CONDUCTOR_APP_OWNEREMAILMANDATRY"

    assert _refusal(file=file) == (
        f"{file}, line 1: there is no setting conductor.app.ownerEmailMandatry; "
        "did you mean conductor.app.ownerEmailMandatory?"
    )
    assert f"environment variable {variable}" in _refusal(environment={variable: "true"})


def test_everything_that_is_wrong_is_said_at_once(file: Path) -> None:
    file.write_text("conductor.nonsense=1\nconductor.server.port=x\n")

    assert len(_refusal(file=file).splitlines()) == 2


def test_keys_of_conductor_that_do_nothing_here_are_reported_not_refused(file: Path) -> None:
    keys = (
        "conductor.app.stack",
        "conductor.redis-lock.serverAddress",
        "conductor.app.taskWorkerConfigs.HTTP.threadCount",
        "conductor.redis.replicasToSync",
        "conductor.status-notifier.notification.requestRetryCount",
    )
    file.write_text("".join(f"{key}=3\n" for key in keys))

    assert load(file=file).without_effect == keys


def test_lines_that_configure_something_else_are_named_with_what_is_meant(file: Path) -> None:
    file.write_text(
        "server.port=9000\nspring.datasource.password=hush\nloadSample=true\nhush\n"
        "# a comment\nlog.level=INFO\nconductor.log.level=INFO\n"
    )

    settings = load(file=file)

    ignored = "is no setting of this server, and ignored"
    assert settings.ignored == (
        f"{file}, line 1: server.port {ignored}; here it is conductor.server.port",
        f"{file}, line 2: spring.datasource.password {ignored}",
        f"{file}, line 3: loadSample {ignored}",
        f"{file}, line 4: this is no KEY=VALUE, and ignored",
        f"{file}, line 6: log.level {ignored}; here it is conductor.log.level",
    )


@pytest.mark.parametrize(
    "line",
    [
        "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0cw==",
        "c2VjcmV0+c2VjcmV0/hush=",
        "hush another",
        "hush.x another",
        "hush: another",
        "hush=another",
        "https://hush:another@host",
        "9hush.x=another",
        "hush.x!y=another",
        f"hush.{'x' * 100}=another",
    ],
)
def test_what_may_be_a_piece_of_a_secret_is_not_named(file: Path, line: str) -> None:
    file.write_text(f"# a comment\n{line}\n")
    assert load(file=file).ignored == (
        f"{file}, line 2: this is no setting of this server, and ignored",
    )


@pytest.mark.parametrize(
    ("line", "key", "meant"),
    [
        ("CONDUCTOR_LOG_LEVEL=debug", "CONDUCTOR_LOG_LEVEL", "conductor.log.level"),
        (
            "CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS=4",
            "CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS",
            "conductor.scripts.timeLimit",
        ),
        (
            "CONDUCTOR_ELASTICSEARCH_PASSWORD_FILE: /x",
            "CONDUCTOR_ELASTICSEARCH_PASSWORD_FILE",
            "conductor.elasticsearch.password.file",
        ),
        ("CONDUCTOR_LOG_COLOUR=red", "CONDUCTOR_LOG_COLOUR", ""),
    ],
)
def test_a_variable_in_a_file_is_told_how_files_have_it(
    file: Path, line: str, key: str, meant: str
) -> None:
    file.write_text(line)
    hint = f"; in files it is {meant}" if meant else ""
    assert load(file=file).ignored == (
        f"{file}, line 1: {key} is no setting of this server, and ignored{hint}",
    )


def test_a_key_of_spring_with_a_space_behind_it_is_named(file: Path) -> None:
    file.write_text("server.port 9000\nloadSample true\nspring.profiles.active: x\n")
    assert [each.split(" is no ")[0] for each in load(file=file).ignored] == [
        f"{file}, line 1: server.port",
        f"{file}, line 2: loadSample",
        f"{file}, line 3: spring.profiles.active",
    ]


def test_settings_that_keys_of_spring_are_said_to_mean_are_there() -> None:
    assert set(_MEANT.values()) <= {each.setting.key for each in declared()}


def test_what_has_an_effect_is_not_among_the_keys_without() -> None:
    exceptions = {
        "conductor.metrics-prometheus.enabled",
        "conductor.workflow-status-listener.archival.delaySeconds",
    }
    hidden = {each.setting.key for each in declared() if is_without_effect(each.setting.key)}

    assert hidden <= exceptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONDUCTOR_SERVER_URL", "http://localhost:8080/api"),
        ("CONDUCTOR_AUTH_KEY", "key"),
        ("CONDUCTOR_SECRET_TOKEN", "secret"),
        ("CONDUCTOR_ENV_REGION", "eu"),
        ("CONDUCTOR_SERVER_PORT", "tcp://10.0.0.1:8080"),
        ("CONDUCTOR_SERVICE_HOST", "10.0.0.1"),
        ("CONDUCTOR_SERVER_SERVICE_PORT_HTTP", "8080"),
        ("CONDUCTOR_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("PATH", "/bin"),
    ],
)
def test_variables_that_are_no_settings_are_left_alone(name: str, value: str) -> None:
    assert load(environment={name: value}) == Settings()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"conductor.db.type": "redis_standalone"}, "name its nodes in conductor.redis.hosts"),
        ({"conductor.db.type": "redis_sentinel"}, "name its nodes in conductor.redis.hosts"),
        (
            {"conductor.db.type": "redis_sentinel", "conductor.redis.socket": "s"},
            "name its nodes in conductor.redis.hosts",
        ),
        (
            {
                "conductor.db.type": "redis_cluster",
                "conductor.redis.hosts": "a:1:r",
                "conductor.redis.database": "1",
                "conductor.effects.redisUrl": "redis://jobs",
            },
            "conductor.redis.database must be 0 with a cluster",
        ),
        (
            {"conductor.db.type": "redis_cluster", "conductor.redis.hosts": "a:1:r"},
            "conductor.effects.redisUrl must name a Redis of its own",
        ),
        (
            {"conductor.redis.hosts": "a:1:r", "conductor.redis.socket": "s"},
            "exclude each other",
        ),
        (
            {"conductor.app.taskOutputPayloadSizeThreshold": "20MB"},
            "taskOutputPayloadSizeThreshold must not be larger than conductor.app.maxTaskOutput",
        ),
        ({"conductor.archive.retention": "1m"}, "retention must be longer than"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    flags: dict[str, str], message: str
) -> None:
    assert message in _refusal(flags=flags)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_refused(file: Path, content: bytes | None) -> None:
    if content is not None:
        file.write_bytes(content)

    assert str(file) in _refusal(file=file)


def test_a_child_process_reads_the_same_settings() -> None:
    flags = {"conductor.redis.hosts": "a:1:r:p", "conductor.app.lockLeaseTime": "2s"}
    settings = load(flags=flags)

    assert load(environment=environment_of(settings)) == settings


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().server.port = 1  # type: ignore[misc]


def test_every_setting_has_one_key_and_a_sentence() -> None:
    keys = [re.sub(r"[._-]", "", each.setting.key).lower() for each in declared()]

    assert len(keys) == len(set(keys)) > 60
    for each in declared():
        assert each.setting.key.startswith("conductor.")
        assert each.setting.sentence.endswith(".")


def test_every_setting_is_in_the_example_with_its_default() -> None:
    lines = example().splitlines()

    for each in declared():
        assert f"#{each.setting.key}={each.setting.default}" in lines
    assert all(len(line) <= 100 for line in lines)


def test_the_example_file_is_up_to_date() -> None:
    assert _EXAMPLE.read_text(encoding="utf-8") == example()


def test_the_example_uncommented_is_a_configuration_of_defaults(file: Path) -> None:
    lines = example().splitlines()
    file.write_text("\n".join(line[1:] for line in lines if line.startswith("#conductor.")))

    settings = load(file=file)

    assert dataclasses.replace(settings, given={}) == Settings()
