"""Settings are shown with the values in effect, and never with a secret."""

from dataclasses import replace

import pytest

from conductor_py.config.settings import Settings, declared
from conductor_py.config.shown import shown


def test_every_setting_is_shown_as_it_would_be_written() -> None:
    written = shown(Settings())
    assert written.keys() == {each.setting.key for each in declared()}
    for each in declared():
        value = getattr(getattr(Settings(), each.section), each.attribute)
        if not each.setting.secret:
            assert each.setting.parse(written[each.setting.key]) == value


def test_a_secret_is_only_said_to_be_set() -> None:
    storage = replace(Settings().payload_storage, secret_key="tell-nobody")
    written = shown(replace(Settings(), payload_storage=storage))
    assert "tell-nobody" not in "".join(written.values())
    assert "***" in written.values()


def test_credentials_in_a_url_are_masked() -> None:
    index = replace(Settings().index, url="https://me:tell-nobody@index:9200,http://other:9200")
    written = shown(replace(Settings(), index=index))
    assert written["conductor.elasticsearch.url"] == "https://***@index:9200,http://other:9200"


@pytest.mark.parametrize("user", ["me:tell@nobody", "tell@nobody", ":tell-nobody"])
def test_credentials_with_an_at_sign_are_masked_whole(user: str) -> None:
    index = replace(Settings().index, url=f"https://{user}@index:9200/a@b")
    written = shown(replace(Settings(), index=index))
    assert written["conductor.elasticsearch.url"] == "https://***@index:9200/a@b"


def test_values_in_the_query_of_a_url_are_masked() -> None:
    url = "https://index.example/in?team=t&token=tell-nobody#end"
    written = shown(replace(Settings(), index=replace(Settings().index, url=url)))
    masked = written["conductor.elasticsearch.url"]
    assert masked == "https://index.example/in?team=***&token=***#end"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://hooks.example/services/T0/B0/tell-nobody", "https://hooks.example/***"),
        ("HTTPS://me:tell-nobody@hooks.example:8443/a", "HTTPS://***@hooks.example:8443/***"),
        ("https://me:tell@nobody@hooks.example", "https://***@hooks.example"),
        ("https://hooks.example?tell-nobody", "https://hooks.example/***"),
        ("https://hooks.example#tell-nobody", "https://hooks.example/***"),
        ("https://hooks.example/", "https://hooks.example/"),
        ("https://[::1]:80/tell-nobody", "https://[::1]:80/***"),
        ("https://tell-nobody\\@hooks.example/x", "***"),
        ("services/tell-nobody", "***"),
        ("", ""),
    ],
)
def test_of_a_url_whose_path_may_be_a_secret_the_host_is_shown(url: str, seen: str) -> None:
    listeners = Settings().listeners
    hooks = replace(listeners, url=url, endpoint_workflow="tell-nobody", endpoint_task="nobody")
    settings = replace(Settings(), listeners=hooks)
    written = shown(settings)
    assert written["conductor.status-notifier.notification.url"] == seen
    assert written["conductor.status-notifier.notification.endpointWorkflow"] == "***"
    assert written["conductor.status-notifier.notification.endpointTask"] == "***"
    assert "nobody" not in "".join(written.values())
    assert "nobody" not in repr(settings)


def test_settings_whose_url_is_posted_to_hide_its_path() -> None:
    named = [each.setting for each in declared() if ".notification.url" in each.setting.key.lower()]
    named += [each.setting for each in declared() if "notification.endpoint" in each.setting.key]
    assert len(named) == 3
    assert [setting.key for setting in named if not setting.secret_path] == []


def test_settings_that_sound_like_credentials_are_secrets() -> None:
    telling = ("password", "secretkey", "accesskey")
    named = [each.setting for each in declared() if each.setting.key.lower().endswith(telling)]
    assert named
    assert [setting.key for setting in named if not setting.secret] == []
