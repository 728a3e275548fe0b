"""Options and variables that are read and checked, and have no effect yet: a server that is given one says so."""

OPTIONS = frozenset(
    """
    aggregate_engine_logging custom_histogram_buckets
    data_parallel_address data_parallel_backend data_parallel_external_lb data_parallel_hybrid_lb
    data_parallel_multi_port_external_lb data_parallel_rpc_port data_parallel_start_rank
    default_mm_loras distributed_executor_backend enable_log_deltas enable_log_outputs
    enable_log_requests enable_logging_iteration_details enable_lora enable_mfu_metrics enable_prompt_embeds
    enable_sleep_mode kv_cache_metrics
    kv_cache_metrics_sample kv_offloading_backend kv_offloading_size limit_mm_per_prompt
    log_error_stack logging_config logprobs_mode lora_modules max_cpu_loras max_log_len max_lora_rank max_loras
    max_num_queued_reqs max_num_queued_tokens optimization_level otlp_traces_endpoint
    per_request_spec_decode_metrics profiler_config renderer_num_workers scheduler_cls
    show_hidden_metrics_for_version skip_tokenizer_init spec_method spec_model spec_tokens speculative_config
    """.split()  # noqa: SIM905
)
VARIABLES = frozenset(
    """
    VLLM_DEBUG_LOG_API_SERVER_RESPONSE VLLM_DP_RANK VLLM_DP_SIZE
    VLLM_KEEP_ALIVE_ON_ENGINE_DEATH VLLM_LOG_STATS_INTERVAL VLLM_REQUEST_BODY_LOG_LEVEL
    """.split()  # noqa: SIM905
)
