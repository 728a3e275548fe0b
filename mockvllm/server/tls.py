"""`--ssl-certfile` and `--ssl-keyfile`, looked at before anything starts."""

import ssl
from pathlib import Path

from mockvllm.settings import Settings, SettingsError


def check_tls(settings: Settings) -> None:
    """Raises SettingsError for files that cannot be read, or are no certificate with its key."""
    certificate, key = settings.ssl_certfile, settings.ssl_keyfile
    if not certificate:
        return
    _check_readable("--ssl-certfile", certificate)
    if key:
        _check_readable("--ssl-keyfile", key)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        flags = f"--ssl-certfile {certificate}" + (f", --ssl-keyfile {key}" if key else "")
        raise SettingsError(f"{flags}: no certificate with its key ({error.reason or error.strerror})") from None


def _check_readable(flag: str, path: str) -> None:
    try:
        Path(path).open("rb").close()
    except OSError as error:
        raise SettingsError(f"{flag} {path}: {error.strerror}") from None
