# SPDX-License-Identifier: Apache-2.0
"""budget: lines a file and compile seconds a file.

Compile seconds are user plus system time of the compiler, written by scripts/timed-compile while the release preset builds
(every SIMD target). A result that came out of ccache is not counted; the last real compilation of that file is.
"""
import re

from .fmt import tracked
from .steps import BUILD, ROOT, Failed, say, step

LINES_AIM, LINES_LIMIT = 500, 600
SECONDS_LIMIT = 10.0
CODE = (".cpp", ".h", ".c", ".py", ".cmake", ".cu", ".cuh")


def add_commands(commands):
    budget = commands.add_parser("budget", help="lines and compile seconds of each file against the limits")
    budget.add_argument("--preset", default="release", help="whose build is read (default: release)")
    budget.add_argument("--top", type=int, default=10, help="how many of the slowest files to print")
    budget.set_defaults(run=lambda arguments: budget_command(arguments.preset, arguments.top))


def line_counts():
    for file in tracked():
        if file.suffix in CODE or file.name in ("nbx-dev", "CMakeLists.txt"):
            with open(file, errors="replace") as text:
                yield sum(1 for _ in text), str(file.relative_to(ROOT))


def compile_seconds(preset):
    """{source: CPU seconds of its latest real compilation}, of the files that still exist."""
    seconds = {}
    log = BUILD / preset / "compile_seconds.tsv"
    if not log.exists():
        return None
    for line in log.read_text().splitlines():
        spent, _, output = line.partition("\t")
        source = re.sub(r"^.*?CMakeFiles/[^/]+\.dir/", "", output)[:-len(".o")]
        if (ROOT / source).exists():
            seconds[source] = sum(map(float, spent.split()))
    return seconds


def budget_command(preset="release", top=10, go_on=False):
    with step("budget", go_on):
        problems = []
        counts = sorted(line_counts(), reverse=True)
        long = [(lines, path) for lines, path in counts if lines > LINES_AIM]
        say(f"{len(counts)} files, {sum(lines for lines, _ in counts)} lines; longest {counts[0][0] if counts else 0}")
        for lines, path in long:
            say(f"  {lines:5d} lines  {path}{'  OVER THE LIMIT' if lines > LINES_LIMIT else ''}")
        over = [path for lines, path in long if lines > LINES_LIMIT]
        if over:
            problems.append(f"{len(over)} files have more than {LINES_LIMIT} lines: {', '.join(over)}")

        seconds = compile_seconds(preset)
        if seconds is None:
            say(f"no compile times: build/{preset} was not built yet (./nbx-dev build {preset})")
        elif seconds:
            slow = sorted(((spent, path) for path, spent in seconds.items()), reverse=True)
            say(f"{len(slow)} files compiled in {sum(seconds.values()):.0f} CPU-seconds; the slowest:")
            for spent, path in slow[:top]:
                say(f"  {spent:6.1f} s  {path}{'  OVER THE LIMIT' if spent > SECONDS_LIMIT else ''}")
            over = [path for spent, path in slow if spent > SECONDS_LIMIT]
            if over:
                problems.append(f"{len(over)} files compile longer than {SECONDS_LIMIT:.0f} s: {', '.join(over)}")
        else:
            say("no compile times: every result came out of ccache; measure with CCACHE_RECACHE=1 ./nbx-dev build release")
        if problems:
            raise Failed("; ".join(problems))
