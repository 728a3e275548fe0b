"""Bytes and texts that differ by release (vLLM's API server, 0.30 to 0.33)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockvllm.profiles.rule import rule


@dataclass(frozen=True, slots=True)
class WireRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    weight_versions: bool = rule(
        "choices carry `weight_versions`: in a chat stream that of the finish chunk, in a completion's all of them",
        "chat_basic/empty_answer",
    )
    chunk_kv_transfer_params: bool = rule(
        "chunks of a stream carry `kv_transfer_params`, but for the first of a chat and the usage", "chat_stream/echo"
    )
    reuses_prompt_token_ids: bool = rule(
        "`kv_transfer_params.prompt_token_ids` are the prompt of a chat, whose messages are not rendered (400 else)",
        needs="a chat with kv_transfer_params",
    )
    valid_aliases_in_404: bool = rule("the 404 for an unknown model lists the valid aliases", "chat_body/wrong_model")
    finish_without_output: bool = rule(
        "a choice that ends without a token has a finish chunk in its stream",
        needs="a stream whose request the engine ends before a token",
    )
    spaced_stream_errors: bool = rule(
        "an error inside a stream is JSON with spaces", needs="a stream that the engine refuses"
    )
    reserves_output: bool = rule(
        "prompt and `max_tokens` together have to fit in the window (400 else); otherwise the answer is cut there",
        "context/chat_38_prompt_max_8155",
    )
    generation_config_penalties: bool = rule(
        "presence and frequency penalties of generation_config.json are defaults of requests",
        needs="a model whose generation config has penalties",
    )
    distrusts_mm_kwargs: bool = rule(
        "`mm_processor_kwargs` in a request is refused (400) without --trust-request-mm-kwargs",
        needs="a request with mm_processor_kwargs",
    )
    null_top_logprobs_counts: bool = rule(
        "`logprobs: true` with `top_logprobs: null` gives log-probabilities", needs="such a request"
    )
    generation_config_skip_special_tokens: bool = rule(
        "`skip_special_tokens` of generation_config.json is the default of requests",
        needs="a model whose generation config has it",
    )
    absent_fields: Sequence[str] = rule(
        "fields that chats and completions lack, as if they were none of vLLM's", needs="one of them with a wrong value"
    )
    fields_without_null: Sequence[str] = rule(
        "fields of chats and completions that refuse null (400)", needs="one of them as null"
    )
    suffix_names_fim: bool = rule(
        "the 400 for a completion's `suffix` speaks of FIM and has a param", "completions/suffix"
    )
    empty_prompt_list_names_field: bool = rule(
        "the 400 for an empty list of tokens as prompt has the param `prompt`", "completions/ids_empty"
    )
    beam_search_checks_echo: bool = rule(
        "a completion with beam search and `echo` is refused (400)", needs="use_beam_search with echo"
    )
    scoring_schema_errors_listed: bool = rule(
        "/generative_scoring lists validation errors as other endpoints do, not in pydantic's words",
        "pooling/generative_scoring_bad",
    )
    text_offset_continues: bool = rule(
        "`text_offset` goes on over the events of a stream; else it is the length of the text sent",
        needs="a completion with echo, logprobs and stream",
    )
    withheld_logprobs: bool = rule(
        "with logprobs, tokens that a parser withholds have a chunk of their own", "reasoning_qwen3/logprobs_stream"
    )
    cut_calls_are_calls: bool = rule(
        "an answer that is cut inside a tool call has `finish_reason` tool_calls, not length",
        "tools_hermes/truncated_stream",
    )
    calls_follow_schema: bool = rule(
        "tool_choice required or named: arguments follow the schema though the tool is not strict",
        needs="arguments outside the schema",
    )
    single_call_ends: bool = rule(
        "`parallel_tool_calls: false` ends the answer behind the first call",
        "tools_hermes/two_no_parallel_stream",
    )
    max_schema_nesting: int = rule(
        "how deep objects and arrays may be nested in the schema of structured outputs (400 above it); 0: any depth",
        needs="a schema that is nested deeper",
    )
