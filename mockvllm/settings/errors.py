"""The one error of this package."""


class SettingsError(ValueError):
    """A setting that cannot be: its text is one line that names the flag or variable and the value."""
