"""The exceptions of this package, by what a caller can do about them.

Functions also raise Python's own exceptions: ``FileNotFoundError`` and other ``OSError`` with number and file name,
``FileExistsError``, ``KeyError`` for an unknown variable, ``IndexError`` and ``ValueError`` for invalid requests,
``KeyboardInterrupt``.
"""


class Error(Exception):
    """Any error that nc3z itself detects. The others derive from it."""


class CorruptError(Error, OSError):
    """The bytes of the file are invalid: damaged, truncated, or not of the expected format."""


class UnsupportedError(Error, NotImplementedError):
    """The file may be valid, but this version cannot read it."""


class LimitError(Error, ValueError):
    """The file exceeds a limit of the reader."""


class RangeError(Error, OverflowError, ValueError):
    """A value does not fit the requested type: it is out of range, or a fraction for an integer type."""


class ReplacedError(Error, OSError):
    """The file was replaced after it was opened. Values read before belong to the old file."""


class Cancelled(Error):
    """The work was cancelled. No incomplete file remains."""
