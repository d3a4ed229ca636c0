# SPDX-License-Identifier: Apache-2.0
"""build and clean."""
import shutil

from . import install
from .steps import BUILD, ROOT, jobs, run, say, step

PRESETS = ("dev", "release", "asan", "tsan", "core-only", "fuzz")


def add_commands(commands):
    build = commands.add_parser("build", help="install what is missing, configure and build a preset")
    build.add_argument("preset", nargs="?", default="dev", choices=PRESETS)
    build.add_argument("targets", nargs="*", help="build targets (default: all)")
    build.set_defaults(run=build_command)
    clean = commands.add_parser("clean", help="remove build/ (with --all also .venv and .models)")
    clean.add_argument("--all", action="store_true")
    clean.set_defaults(run=clean_command)


def build_command(arguments):
    install.packages("build", "test")
    install.python_environment()
    build_preset(arguments.preset, arguments.targets)


def build_preset(preset, targets=(), options=(), configure_only=False, go_on=False):
    with step(f"configure {preset}", go_on):
        run(["cmake", "--preset", preset, *options], log=f"configure-{preset}.log")
    if configure_only:
        return
    with step(f"build {preset}", go_on):
        run(["ninja", "-C", BUILD / preset, f"-j{jobs()}", *targets], log=f"build-{preset}.log")


def clean_command(arguments):
    from . import same  # it builds, too

    same.remove_worktrees()
    folders = [BUILD] + ([ROOT / ".venv", ROOT / ".models"] if arguments.all else [])
    for folder in folders:
        if folder.exists():
            shutil.rmtree(folder)
            say(f"removed {folder.relative_to(ROOT)}/")
    if not arguments.all:
        return
    for folder in ROOT.rglob("__pycache__"):
        shutil.rmtree(folder)
