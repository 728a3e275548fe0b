"""What a person can do wrong when they ask for a planning figure."""


class InputError(ValueError):
    """Wrong input of a planning function. The message is one line that names the field and its value."""
