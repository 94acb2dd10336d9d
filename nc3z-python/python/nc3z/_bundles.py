"""Lists the files of a bundle: a ZIP without compression, packed or not, on disk or at a URL, or a tar on disk."""

from __future__ import annotations

import base64
import importlib
import io
import json
import os
import struct
import tarfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from nc3z._errors import CorruptError, UnsupportedError
from nc3z._nc3z import shown
from nc3z._zstd import decompress

#: The names of members that describe the bundle, or hold packed members (spec/bundle.md).
_OWN = (".nc3z/", "README-nc3z.txt", "nc3z-specification/")
_HINT = 96
#: The longest end record of a ZIP, and the longest index that is read.
_END = 22 + 0xFFFF
_MAX_INDEX = 1 << 30


def _request(url: str, span: str, storage_options: Mapping[str, Any] | None) -> urllib.request.Request:
    """A request with the headers of the settings (docs/remote.md), which are not sent to other hosts."""
    parts = urllib.parse.urlsplit(url)
    headers = dict(line.split(": ", 1) for line in os.environ.get("NC3Z_HTTP_HEADERS", "").splitlines() if ": " in line)
    if parts.username is not None:
        secret = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(secret.encode()).decode()
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    for name, value in (storage_options or {}).items():
        if name == "bearer_token":
            headers["Authorization"] = f"Bearer {value}"
        elif name.startswith("header."):
            headers[name.removeprefix("header.")] = str(value)
    request = urllib.request.Request(url, headers={"Range": span})
    for name, value in headers.items():
        request.add_unredirected_header(name, value)
    return request


class Ranges:
    """Byte ranges of a file or a URL. URLs other than ``http`` and ``https`` need ``fsspec``."""

    def __init__(self, path: str, storage_options: Mapping[str, Any] | None) -> None:
        self.path, self._url, self._options = shown(path), path, storage_options
        self._file: Any = None
        if path.startswith(("http://", "https://")):
            request = _request(path, "bytes=0-0", storage_options)
            with urllib.request.urlopen(request, timeout=60) as answer:
                size = (answer.headers.get("Content-Range") or "").rpartition("/")[2]
            if not size.isdigit():
                raise UnsupportedError(f"{self.path}: the server does not answer requests of byte ranges")
            self.size = int(size)
            return
        if "://" in path:
            fsspec: Any = importlib.import_module("fsspec")
            self._file = fsspec.open(path, "rb", **dict(storage_options or {})).open()
        else:
            self._file = open(path, "rb")
        self.size = self._file.seek(0, os.SEEK_END)

    def read(self, at: int, nbytes: int) -> bytes:
        """Returns the bytes of a range, cut at the end of the file."""
        nbytes = min(nbytes, self.size - at)
        if nbytes <= 0:
            return b""
        if self._file is None:
            request = _request(self._url, f"bytes={at}-{at + nbytes - 1}", self._options)
            with urllib.request.urlopen(request, timeout=60) as answer:
                found: bytes = answer.read(nbytes + 1)
        else:
            self._file.seek(at)
            found = self._file.read(nbytes)
        if len(found) != nbytes:
            raise CorruptError(f"{self.path}: {len(found)} bytes at {at} instead of {nbytes}")
        return found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def is_bundle(path: str) -> bool:
    """Returns whether a local file begins as a ZIP, or is a tar by its name."""
    try:
        with open(path, "rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06") or (path.endswith(".tar") and tarfile.is_tarfile(path))
    except OSError:
        return False


def names(path: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Returns the names of the files in a bundle, in its order."""
    if "://" not in path and path.endswith(".tar"):
        with tarfile.open(path) as tar:
            return [member.name for member in tar if member.isfile()]
    source = Ranges(path, storage_options)
    try:
        index = _index(source)
        found = _listed(source) if index is None else _indexed(index, source.path)
    finally:
        source.close()
    return [name for name in found if not name.startswith(_OWN) and not name.endswith("/")]


def _place(words: bytes, source: Ranges) -> bytes | None:
    """Returns the index that a hint or comment names, or None if it is none."""
    parts = words.rstrip(b"\0").split()
    if len(parts) < 4 or parts[0] != b"nc3z-index":
        return None
    try:
        at, length, crc = int(parts[1]), int(parts[2]), int(parts[3], 16)
    except ValueError:
        return None
    if length > _MAX_INDEX or at + length > source.size:
        return None
    found = source.read(at, length)
    return found if zlib.crc32(found) == crc else None


def _index(source: Ranges) -> bytes | None:
    """The index of a bundle: that of its hint, otherwise that of the comment of its end record."""
    head = source.read(0, 4096)
    if len(head) >= 30 and head[:4] == b"PK\x03\x04":
        at = 30 + sum(struct.unpack_from("<HH", head, 26))
        hint = head[max(at - _HINT, 0) : at] if at <= len(head) else b""
        parts = hint.rstrip(b"\0").split()
        # A longer file without an end record: an appending program was interrupted. A shorter one is damaged.
        whole = len(parts) == 5 and parts[4].isdigit() and int(parts[4]) <= source.size
        if whole and (int(parts[4]) == source.size or not _ends(source)):
            return _place(hint, source)
    tail = source.read(max(source.size - _END, 0), _END)
    end = tail.rfind(b"PK\x05\x06")
    return None if end < 0 else _place(tail[end + 22 :], source)


def _ends(source: Ranges) -> bool:
    tail = source.read(max(source.size - _END, 0), _END)
    end = tail.rfind(b"PK\x05\x06")
    return end >= 0 and len(tail) >= end + 22 + int.from_bytes(tail[end + 20 : end + 22], "little")


def _indexed(index: bytes, path: str) -> list[str]:
    what = f"{path}: the index of the bundle"
    if index[:8] != b"nc3zidx2":
        raise UnsupportedError(f"{what} is of an unknown version")
    nbytes = int.from_bytes(index[8:16], "little")
    if nbytes > _MAX_INDEX:
        raise CorruptError(f"{what} says that it has {nbytes} bytes, and {_MAX_INDEX} is the most")
    plain = decompress(index[16:], nbytes, what)
    length = int.from_bytes(plain[:8], "little")
    try:
        listed = json.loads(plain[8 : 8 + length])
        members = listed["members"]
        rest = plain[8 + length + sum(part[1] for member in members for part in member[4]) :]
        found = [str(member[0]) for member in members]
        for _group, count, own in listed.get("packed", []):
            packed, rest = rest[:own].split(b"\0"), rest[own:]
            if len(packed) != count + 1 or packed[-1]:
                raise CorruptError(f"{what}: the names of packed files do not have the stored number")
            found.extend(name.decode() for name in packed[:-1])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as e:
        raise CorruptError(f"{what}: {e}") from None
    return found


class _Seekable(io.RawIOBase):
    """Ranges as a file, for the list of a ZIP without an index."""

    def __init__(self, source: Ranges) -> None:
        self._source, self._at = source, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        found = self._source.read(self._at, len(buffer))
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def _listed(source: Ranges) -> list[str]:
    try:
        with zipfile.ZipFile(io.BufferedReader(_Seekable(source), 1 << 16)) as file:
            return file.namelist()
    except zipfile.BadZipFile as e:
        raise CorruptError(f"{source.path}: {e}") from None
