"""Packs a built program as a wheel: build_wheel.py PROGRAM [--platform TAG] [--version V] [--notices FILE] [--out DIR].

It needs pip alone, which fetches setuptools. The same program gives the same bytes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF files


def platform_of(program: Path) -> str:
    """manylinux_2_N_ARCH, by the newest symbols of glibc that the program asks for."""
    content = program.read_bytes()
    if content[:4] != b"\x7fELF":
        raise SystemExit(f"{program} is no Linux program; name its platform with --platform, as in macosx_11_0_arm64")
    machine = MACHINES[int.from_bytes(content[18:20], "little")]
    versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", content)] or [17]
    return f"manylinux_2_{max(max(versions), 17)}_{machine}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("program", type=Path)
    parser.add_argument("--platform", default="", help="of the program; that of an ELF file is found")
    parser.add_argument("--version", default="", help="as scripts/version.sh prints it")
    parser.add_argument("--notices", type=Path, help="licences of what is linked into the program")
    parser.add_argument("--out", type=Path, default=Path("dist"))
    o = parser.parse_args()
    env = os.environ | {
        "ERREVAL_PROGRAM": str(o.program.resolve()),
        "ERREVAL_PLATFORM": o.platform or platform_of(o.program),
        "ERREVAL_VERSION": o.version,
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1577836800"),  # 2020: a ZIP file knows no 1970
    }
    o.out.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:  # setuptools leaves folders beside what it builds
        source = Path(folder) / "python"
        shutil.copytree(
            here, source, ignore=shutil.ignore_patterns("tests", "__pycache__", ".*", "build", "*.egg-info")
        )
        shutil.copyfile(here.parent / "LICENSE", source / "LICENSE")
        if o.notices:
            shutil.copyfile(o.notices, source / "THIRD_PARTY_LICENSES")
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", str(o.out), str(source)], check=True, env=env)


if __name__ == "__main__":
    main()
