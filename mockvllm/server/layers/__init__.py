"""What lies around every route, whichever it is: pure ASGI callables, composed once, outermost first. None waits or
looks at a body: each returns what the application returns, with the start of the response edited.

Order as in vLLM 0.33: a 401 carries the request's id but none of CORS's headers.
"""

from mockvllm.server.asgi import App
from mockvllm.server.layers.access_log import AccessLog
from mockvllm.server.layers.auth import Auth
from mockvllm.server.layers.cors import Cors
from mockvllm.server.layers.request_id import RequestId
from mockvllm.settings import Settings


def compose(app: App, settings: Settings, api_keys: list[str], access_log: AccessLog | None) -> App:
    """`app` within the layers that these settings ask for."""
    app = Cors(app, settings)
    if api_keys:
        app = Auth(app, api_keys, settings.root_path or "")
    if settings.enable_request_id_headers:
        app = RequestId(app)
    return access_log.around(app) if access_log else app
