"""The `mockvllm` command. Each sub-command is one small module, imported only when it is called."""

import importlib
import sys
from collections.abc import Sequence

from mockvllm.console import to_nowhere

COMMANDS = {
    "serve": "start a server (vLLM's flags, and ours)",
    "chat": "ask any chat server one question and measure the answer",
    "proxy": "stand in front of a server and hold its answers back",
    "simulate": "run the engine on a virtual clock",
    "fit": "constants of --step-time linear from results of vllm bench serve",
    "lesson": "what happens inside: KV blocks and preemption, batching, chunked prefill",
    "plan": "figures for sizing a deployment: memory, roofline, budget, jerks",
    "sweep": "find the knee in the results of a load sweep; --run makes it",
    "conform": "does a server answer as the real vLLM? replay recordings, or ask both",
    "profile": "the vLLM releases that are followed: what a client notices between two",
    "verify-weights": "check a directory of weights against its manifest",
}


def usage() -> str:
    rows = "\n".join(f"  {name:16} {text}" for name, text in COMMANDS.items())
    return f"usage: mockvllm COMMAND [flags]   (mockvllm COMMAND --help)\n\n{rows}"


def main(argv: Sequence[str] | None = None) -> None:
    """Dispatch to `mockvllm.cli.<command>.main(argv)`; exit 2 for an unknown command."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        raise SystemExit(0 if args else 2)
    if args[0] in ("-V", "--version"):
        from mockvllm import __version__

        print(f"mockvllm {__version__}")
        return
    if args[0] not in COMMANDS:
        print(f"mockvllm: no such command: {args[0]}\n\n{usage()}", file=sys.stderr)
        raise SystemExit(2)
    module = importlib.import_module(f"mockvllm.cli.{args[0].replace('-', '_')}")
    try:
        status = module.main(args[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere(sys.stdout)  # whoever read us (`| head`) has seen enough
        status = 0
    raise SystemExit(status)
