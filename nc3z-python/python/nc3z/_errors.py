"""What can go wrong, by what a caller can do about it.

Beside these, functions raise Python's own: ``FileNotFoundError`` and other ``OSError`` with number and file name,
``FileExistsError``, ``KeyError`` for a variable that is not there, ``IndexError`` and ``ValueError`` for requests that
make no sense, ``KeyboardInterrupt``.
"""


class Error(Exception):
    """Whatever nc3z itself found; the others derive from it."""


class CorruptError(Error, OSError):
    """The file's bytes are wrong: damaged, cut short, or not what they claim to be."""


class UnsupportedError(Error, NotImplementedError):
    """The file may be fine, but this version does not know how to read it."""


class LimitError(Error, ValueError):
    """The file asks for more than a reader should give it."""


class RangeError(Error, OverflowError, ValueError):
    """A value is none of the type that was asked for: it is out of range, or a fraction where integers are stored."""


class ReplacedError(Error, OSError):
    """Another file stands where the opened one was: what was read before does not go with it."""


class Cancelled(Error):
    """The work was asked to stop, and left nothing half done behind."""
