"""What differs between vLLM releases: data, not branches. One TOML file a release, a section for each reader."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mockvllm.profiles.messages import MessagesRules
from mockvllm.profiles.responses import ResponsesRules
from mockvllm.profiles.routes import RouteRules
from mockvllm.profiles.scheduler import SchedulerRules
from mockvllm.profiles.wire import WireRules

NAMES = ("0.30", "0.32", "0.33")


@dataclass(frozen=True, slots=True)
class Profile:
    """One vLLM release. `name` is what `--profile` takes, `version` what the server reports."""

    name: str
    version: str
    scheduler: SchedulerRules
    wire: WireRules
    routes: RouteRules
    responses: ResponsesRules
    messages: MessagesRules


@cache
def load(name: str) -> Profile:
    """The profile called `name`. Raises ValueError with the known names for any other."""
    if name not in NAMES:
        raise ValueError(f"no profile {name!r}: choose from {', '.join(NAMES)}")
    data = tomllib.loads(files(__package__).joinpath(f"{name.replace('.', '_')}.toml").read_text("utf-8"))
    return Profile(
        name,
        data["version"],
        SchedulerRules(**data["scheduler"]),
        WireRules(**data["wire"]),
        RouteRules(**data["routes"]),
        ResponsesRules(**data["responses"]),
        MessagesRules(**data["messages"]),
    )
