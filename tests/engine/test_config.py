import pytest
from workloads import config

from mockvllm.engine import Engine, Linear
from mockvllm.profiles import load


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_gpu_blocks", 0),
        ("block_size", 0),
        ("max_num_seqs", -1),
        ("max_num_active_seqs", 0),
        ("max_num_batched_tokens", 0),
        ("max_num_scheduled_tokens", 0),
        ("max_model_len", 0),
        ("prefill_schedule_interval", 0),
        ("long_prefill_token_threshold", -1),
        ("watermark", 1.0),
        ("watermark", -0.5),
    ],
)
def test_a_value_that_makes_no_sense_is_named(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{field} must .* not {value}"):
        config(**{"num_gpu_blocks": 10, field: value})


@pytest.mark.parametrize(
    "option", [{"long_prefill_token_threshold_adaptive": True}, {"max_num_active_seqs": 4}], ids=lambda o: next(iter(o))
)
def test_an_option_that_a_release_does_not_have_is_refused_there(option: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(option))}.* is not an option of this release"):
        Engine(config(**option), Linear(1.0), rules=load("0.30").scheduler)
    for newer in ("0.32", "0.33"):
        Engine(config(**option), Linear(1.0), rules=load(newer).scheduler)
