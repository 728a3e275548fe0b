"""What the clients of this folder ask, and what the server's default answer is."""

from typing import Any

MODEL = "chat-70b-fp8-2026-09-28"
SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
TOOL_FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def say(text: str) -> str:
    """A user's message to which `text` is the answer."""
    return f"[[say]]{text}[[/say]]"


def call(city: str) -> str:
    """What the model says to call the tool above."""
    return f'<tool_call>{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}</tool_call>'
