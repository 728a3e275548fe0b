"""One raw HTTP/1.1 exchange on a connection of its own: no header of a client library, order and case kept."""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from mockvllm.conformance.recordings import Answer, Request

TIMEOUT_S = 60.0


class ExchangeError(Exception):
    """No answer, or not a whole one."""


def send(url: str, request: Request, timeout: float = TIMEOUT_S) -> Answer:
    """Send `request` to the server at `url` (which may have a path). `timeout` (s) is for each read.

    Raises ExchangeError when there is no whole answer.
    """
    base = urlsplit(url)
    connection = _connection(base, timeout)
    try:
        return _exchange(connection, base.path.rstrip("/"), request)
    except (OSError, HTTPException, UnicodeError) as error:
        raise ExchangeError(f"{request.method} {url}: {type(error).__name__}: {error}") from error
    finally:
        connection.close()


def _connection(base: SplitResult, timeout: float) -> HTTPConnection:
    if base.scheme not in ("http", "https") or not base.hostname:
        raise ValueError(f"a server's URL begins with http:// or https:// and names a host, not {base.geturl()!r}")
    kind = HTTPSConnection if base.scheme == "https" else HTTPConnection
    return kind(base.hostname, base.port, timeout=timeout)


def _exchange(connection: HTTPConnection, prefix: str, request: Request) -> Answer:
    body = None if request.body_text is None else request.body_text.encode()
    connection.putrequest(request.method, prefix + request.path, skip_accept_encoding=True)
    for name, value in request.headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    text = response.read().decode("utf-8", "replace")
    return Answer(response.status, tuple(response.getheaders()), text)
