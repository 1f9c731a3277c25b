"""The error for a verification that failed."""


class NotVerifiedError(ValueError):
    """Raised if a verification cannot take place, or a verifier gives no usable answer.

    Reports show type and message, which quote no claim, evidence or key.

    Attributes:
        error_type: The kind of problem, such as ``no_spans`` or ``timeout``.
        message: What happened and, in most cases, what to do next.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(error_type, message)
        self.error_type, self.message = error_type, message

    def __str__(self) -> str:
        return self.message


def invalid_argument(message: str) -> NotVerifiedError:
    """Return the error for an argument with an invalid value."""
    return NotVerifiedError("invalid_argument", message)
