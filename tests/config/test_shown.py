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
    url = "https://hooks.example/in?team=t&token=tell-nobody#end"
    listeners = replace(Settings().listeners, url=url)
    written = shown(replace(Settings(), listeners=listeners))
    masked = written["conductor.status-notifier.notification.url"]
    assert masked == "https://hooks.example/in?team=***&token=***#end"


def test_settings_that_sound_like_credentials_are_secrets() -> None:
    telling = ("password", "secretkey", "accesskey")
    named = [each.setting for each in declared() if each.setting.key.lower().endswith(telling)]
    assert named
    assert [setting.key for setting in named if not setting.secret] == []
