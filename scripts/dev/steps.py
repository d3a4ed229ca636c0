# SPDX-License-Identifier: Apache-2.0
"""Running commands in named steps, each of which says how long it took."""
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CI = os.environ.get("CI", "") not in ("", "0", "false")

results = []  # (name, seconds, "ok" | "failed: why")


class Failed(Exception):
    """A step that failed; its text says what to look at."""


def jobs():
    return len(os.sched_getaffinity(0))


def say(text):
    print(text, flush=True)


@contextmanager
def step(name, go_on=False):
    """Times a step. With go_on a failure is noted for the summary and the next step runs."""
    say(f"== {name}")
    start = time.monotonic()
    try:
        yield
    except Failed as error:
        seconds = time.monotonic() - start
        results.append((name, seconds, f"failed: {error}"))
        say(f"== {name}: FAILED after {clock(seconds)}: {error}")
        if not go_on:
            raise
    else:
        seconds = time.monotonic() - start
        results.append((name, seconds, "ok"))
        say(f"== {name}: {clock(seconds)}")


def clock(seconds):
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def run(command, cwd=ROOT, env=None, log=None, check=True, timeout=None):
    """Runs a command. With `log` and no terminal its output goes to build/logs/LOG and the end is shown on failure."""
    command = [str(part) for part in command]
    full = dict(os.environ, **(env or {}))
    output = None
    path = None
    if log and not sys.stdout.isatty():
        path = BUILD / "logs" / log
        path.parent.mkdir(parents=True, exist_ok=True)
        output = open(path, "w")
    try:
        code = subprocess.run(command, cwd=cwd, env=full, stdout=output, stderr=subprocess.STDOUT if output else None,
                              timeout=timeout).returncode
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took longer than {timeout} s") from None
    finally:
        if output:
            output.close()
    if code != 0 and check:
        if path:
            say("".join(path.read_text(errors="replace").splitlines(keepends=True)[-60:]))
        where = f"; all of its output: {path.relative_to(ROOT)}" if path else ""
        raise Failed(f"`{' '.join(command[:6])}{' …' if len(command) > 6 else ''}` ended with {code}{where}")
    return code


def output_of(command, cwd=ROOT, check=True):
    result = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if check and result.returncode != 0:
        raise Failed(f"`{' '.join(map(str, command))}` ended with {result.returncode}: {result.stderr.strip()[-400:]}")
    return result.stdout


def summary(total):
    say("\nsummary")
    for name, seconds, state in results:
        say(f"  {clock(seconds):>14}  {name}: {state}")
    failed = sum(state != "ok" for _, _, state in results)
    say(f"  {clock(total):>14}  in all; {len(results) - failed} steps passed, {failed} failed")
    return 1 if failed else 0


def main(function, arguments):
    start = time.monotonic()
    try:
        code = function(arguments)
    except Failed as error:
        if not results or not results[-1][2].startswith("failed"):
            say(f"nbx-dev: {error}")
        code = 1
    except KeyboardInterrupt:
        say("nbx-dev: interrupted")
        return 130
    if len(results) > 1:
        code = summary(time.monotonic() - start) or code
    return code or 0
