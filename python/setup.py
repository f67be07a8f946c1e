"""What pyproject.toml cannot say: the wheel holds a program for one platform, which runs with any Python 3."""

import os
import re
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py


def version() -> str:
    """What scripts/version.sh prints, as Python packages write it: v1.2.0-5-g0123abc is 1.2.0.post5."""
    text = os.environ.get("ERREVAL_VERSION", "")
    local = "+dirty" if text.endswith("-dirty") else ""
    if match := re.match(r"v?0\.0\.0-(\d{14})-", text):
        return f"0.0.0.dev{match[1]}{local}"
    if match := re.match(r"v?(\d+\.\d+\.\d+)(?:-(\d+)-g[0-9a-f]+)?", text):
        return match[1] + (f".post{match[2]}" if match[2] else "") + local
    return "0.0.0.dev0"


class BuildWithProgram(build_py):
    """Puts the program into the package."""

    def run(self) -> None:
        super().run()
        program = os.environ.get("ERREVAL_PROGRAM")
        if not program:
            raise SystemExit("the wheel needs a built program: run 'make wheel', or set ERREVAL_PROGRAM to its path")
        to = Path(self.build_lib) / "erreval" / "bin" / ("erreval.exe" if program.endswith(".exe") else "erreval")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program, to)
        to.chmod(0o755)


class PlatformWheel(bdist_wheel):
    """Names the platform of the program, not that of the machine that packs it."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", os.environ["ERREVAL_PLATFORM"]


class PlatformDistribution(Distribution):
    """Goes to the folder of packages for one platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    version=version(),
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildWithProgram, "bdist_wheel": PlatformWheel},
)
