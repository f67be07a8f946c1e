"""Folders of models on their way to other machines."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from pathlib import Path


def pack(folder: Path) -> bytes:
    """A folder as a ZIP file, uncompressed: weights do not compress. The same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
    return out.getvalue()


def name_of(packed: bytes) -> str:
    """By its content."""
    return f"erreval-model-{hashlib.sha256(packed).hexdigest()[:16]}"


def unpack(packed: Path, to: Path) -> Path:
    """The folder, which appears whole; several processes may do so at the same time."""
    if not to.exists():
        folder = tempfile.mkdtemp(prefix=to.name, dir=to.parent)
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(folder)
        try:
            os.rename(folder, to)
        except OSError:  # another process was first
            if not to.exists():
                raise
    return to
