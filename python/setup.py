"""Puts libhailstone.so into the wheel: the file that HAILSTONE_LIBRARY names, or one that CMake builds from the sources
around this folder."""

import os
import pathlib
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VERSION = (PROJECT / "VERSION").read_text(encoding="utf-8").strip()


def library():
    given = os.environ.get("HAILSTONE_LIBRARY")
    if given:
        return pathlib.Path(given)
    folder = PROJECT / "build" / "wheel"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", PROJECT, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DHAILSTONE_TESTS=OFF",
                    "-DHAILSTONE_CLI=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "hailstone_shared", "--parallel"], check=True)
    return folder / "libhailstone.so"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib) / "hailstone" / "libhailstone.so"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library(), target)


class WheelOfThisMachine(bdist_wheel):
    """Any Python 3, as the library is not linked with it, but only this kind of machine."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=VERSION, distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfThisMachine})
