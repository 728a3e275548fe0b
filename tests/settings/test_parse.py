from mockvllm.settings import DEFAULT_MODEL, load, parse


def test_no_flag_at_all_serves_the_default_model_under_its_last_component() -> None:
    settings, _ = load([], {})
    assert settings.model == DEFAULT_MODEL
    assert settings.model_names == ("chat-70b-fp8-2026-09-28",)


def test_a_model_that_is_given_is_served_as_given() -> None:
    assert parse([DEFAULT_MODEL]).model_names == (DEFAULT_MODEL,)
    assert parse(["org/m", "--served-model-name", "a", "b"]).model_names == ("a", "b")
