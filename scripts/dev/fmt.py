# SPDX-License-Identifier: Apache-2.0
"""fmt: clang-format over the changed files (or all)."""
import shutil

from . import install
from .steps import ROOT, Failed, output_of, run, say, step

SOURCES = (".cpp", ".h", ".c", ".cu", ".cuh")


def add_commands(commands):
    fmt = commands.add_parser("fmt", help="format the changed C++ files")
    fmt.add_argument("--all", action="store_true", help="every file, not only the changed ones")
    fmt.add_argument("--check", action="store_true", help="change nothing; fail when a file is not formatted")
    fmt.set_defaults(run=fmt_command)


def tracked():
    """Every file of the project: tracked ones and new ones that .gitignore does not name."""
    names = output_of(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]).split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def base_commit():
    """What 'changed' is measured from: where this branch left origin/main; on main itself the commit before."""
    base = output_of(["git", "merge-base", "HEAD", "origin/main"], check=False).strip()
    head = output_of(["git", "rev-parse", "HEAD"], check=False).strip()
    if base and base != head:
        return base
    return output_of(["git", "rev-parse", "--verify", "-q", "HEAD~1"], check=False).strip()


def changed():
    base = base_commit()
    if not base:
        return tracked()
    names = set(output_of(["git", "diff", "--name-only", "-z", base]).split("\0"))
    names |= set(output_of(["git", "ls-files", "--others", "--exclude-standard", "-z"]).split("\0"))
    return [ROOT / name for name in sorted(names) if name and (ROOT / name).is_file()]


def sources(files):
    return [file for file in files if file.suffix in SOURCES]


def check_format(files):
    if not files:
        say("no changed C++ file")
        return
    bad = []
    for file in files:
        answer = output_of(["clang-format", "--output-replacements-xml", file])
        if "<replacement " in answer:
            bad.append(str(file.relative_to(ROOT)))
    say(f"{len(files) - len(bad)} of {len(files)} files are formatted")
    if bad:
        raise Failed(f"{len(bad)} files are not formatted ({', '.join(bad[:8])}{' …' if len(bad) > 8 else ''}); "
                     "run: ./nbx-dev fmt")


def fmt_command(arguments):
    if not shutil.which("clang-format"):
        install.packages("test")
    files = sources(tracked() if arguments.all else changed())
    with step(f"clang-format {'check ' if arguments.check else ''}of {len(files)} files"):
        if arguments.check:
            check_format(files)
        elif files:
            run(["clang-format", "-i", *files])
