"""A vLLM server without the GPU: same wire, same scheduler, same metrics."""

__version__ = "0.1.0"
