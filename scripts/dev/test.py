# SPDX-License-Identifier: Apache-2.0
"""test: everything that must hold before a change goes in. Under 25 minutes on 2 cores."""
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from . import budget, fmt, install
from .build import build_preset
from .steps import BUILD, CI, ROOT, Failed, clock, jobs, results, run, say, step

LIMIT_SECONDS = 25 * 60


def add_commands(commands):
    test = commands.add_parser("test", help="build release and asan, run all tests, fuzz, format, tidy and budget checks")
    test.add_argument("--fuzz-seconds", type=int, default=60, help="seconds for each fuzz target (default 60; 0: none)")
    test.add_argument("--tidy-seconds", type=int, default=240, help="time for clang-tidy over the changed files (0: none)")
    test.add_argument("--skip", action="append", default=[], metavar="STEP",
                      choices=("release", "asan", "fuzz", "tsan", "format", "tidy", "budget", "models"),
                      help="leave a step out; may be repeated")
    test.set_defaults(run=test_command)


def test_command(arguments):
    start = time.monotonic()
    install.packages("build", "test")
    install.python_environment()
    skip = set(arguments.skip)
    if "models" not in skip:
        try:
            install.models("demo", "test")
        except Failed:
            pass  # counted as a failed step; the others can still say what they know
    # In CI every file is compiled, so that the compile budget is measured and no cache hides a change of the compiler.
    options = ["-DNBX_CCACHE=OFF", "-DNBX_WERROR=ON"] if CI else []
    if "format" not in skip:
        with step("format of the changed files", go_on=True):
            fmt.check_format(fmt.sources(fmt.changed()))
    if "release" not in skip:
        build_preset("release", options=options, go_on=True)
        ctest("release", {"NBX_REQUIRE_MODELS": "0" if "models" in skip else "1"})
    if "asan" not in skip:
        # One build under the sanitizers serves the unit tests and the fuzz targets, and is the second compiler's.
        build_preset("asan", options=options[:1], targets=["nbx-tests", "nbx-fuzzers"], go_on=True)
        ctest("asan")
        if "fuzz" not in skip and arguments.fuzz_seconds > 0:
            fuzz(arguments.fuzz_seconds)
    if "tsan" not in skip:
        with step("the thread team under ThreadSanitizer", go_on=True):
            team_under_tsan()
    if "tidy" not in skip and arguments.tidy_seconds > 0:
        with step("clang-tidy of the changed files", go_on=True):
            tidy(arguments.tidy_seconds)
    if "budget" not in skip:
        budget.budget_command("release", go_on=True)
    total = time.monotonic() - start
    if total > LIMIT_SECONDS:
        say(f"note: {clock(total)} is over the {clock(LIMIT_SECONDS)} that this should take on 2 cores")
    return 1 if any(state != "ok" for _, _, state in results) else 0


def ctest(preset, more=None):
    with step(f"tests {preset}", go_on=True):
        if not (BUILD / preset / "CTestTestfile.cmake").exists():
            raise Failed("not configured")
        log = f"ctest-{preset}.log"
        path = BUILD / "logs" / log
        environment = {
            "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            **(more or {}),
        }
        try:
            run(["ctest", "--test-dir", BUILD / preset, "-j", jobs(), "--output-on-failure", "--no-tests=error"],
                env=environment, log=log)
        finally:
            if path.exists():
                lines = path.read_text(errors="replace").splitlines()
                marks = ("tests passed", "Failed", "Skipped", "Total Test")
                say("\n".join(line for line in lines if any(mark in line for mark in marks)))


def team_under_tsan():
    """All threads of the library are the team's. Three files: a whole tree under TSan (preset tsan) would take as long as release."""
    program = BUILD / "tsan-team/team-test"
    program.parent.mkdir(parents=True, exist_ok=True)
    sources = ["src/backend/cpu/team.cpp", "src/base/error.cpp", "src/backend/cpu/team.test.cpp"]
    run(["g++", "-std=c++20", "-O1", "-g", "-fsanitize=thread", "-I", ROOT / "include", "-I", ROOT / "src", *[ROOT / s for s in sources],
         "-lfmt", "-lgtest", "-lgtest_main", "-pthread", "-o", program], log="tsan-team.log")
    run([program, "--gtest_brief=1"], log="tsan-team.log")


def fuzz(seconds):
    """Each target from its seed corpus fuzz/corpus/<name>/, as many at a time as there are cores."""
    if not list((ROOT / "fuzz").glob("*.cpp")):
        say("no fuzz target")
        return
    programs = sorted((BUILD / "asan/bin").glob("fuzz-*"))
    with step(f"fuzzing {len(programs)} parsers, {seconds} s each", go_on=True):
        if not programs:
            raise Failed("no fuzz target was built")
        bad = []
        with ThreadPoolExecutor(jobs()) as pool:
            waiting = {pool.submit(fuzz_one, program, seconds): program for program in programs}
            for done in as_completed(waiting):
                code, last = done.result()
                say(f"  {waiting[done].name}: {last}")
                if code != 0:
                    bad.append(f"{waiting[done].name} (build/logs/{waiting[done].name}.log)")
        if bad:
            raise Failed("found: " + ", ".join(bad))


def fuzz_one(program, seconds):
    name = program.name.removeprefix("fuzz-")
    work = BUILD / "fuzz/corpus" / name
    work.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "fuzz/corpus" / name
    log = BUILD / "logs" / f"{program.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [program, f"-max_total_time={seconds}", "-rss_limit_mb=1024", "-malloc_limit_mb=512", "-timeout=10",
               "-print_final_stats=1", f"-artifact_prefix={BUILD / 'fuzz'}/{name}-", work]
    if seeds.is_dir():
        command.append(seeds)
    with open(log, "w") as output:
        code = subprocess.run([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT,
                              cwd=BUILD / "fuzz").returncode
    lines = log.read_text(errors="replace").splitlines()
    shown = [line for line in lines if "SUMMARY" in line or "number_of_executed_units" in line or "Done" in line]
    return code, shown[-1] if shown else f"ended with {code}"


def tidy(seconds):
    """clang-tidy on the changed sources, the smallest first, until the time is over; says how many it reached."""
    database = BUILD / "release"
    if not (database / "compile_commands.json").exists():
        build_preset("release", configure_only=True)
    known = (database / "compile_commands.json").read_text()
    files = [file for file in fmt.changed() if file.suffix == ".cpp" and str(file) in known]
    files.sort(key=lambda file: file.stat().st_size)
    deadline = time.monotonic() + seconds
    bad, reached = [], 0

    def one(file):
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            return subprocess.run(["clang-tidy", "--quiet", "-p", str(database), "--extra-arg=-w",
                                   "--extra-arg=-DNBX_DEV_ONE_TARGET=1", str(file)],
                                  capture_output=True, text=True, timeout=left + 30)
        except subprocess.TimeoutExpired:
            return None

    with ThreadPoolExecutor(jobs()) as pool:
        for file, answer in zip(files, pool.map(one, files)):
            if answer is None:
                continue
            reached += 1
            if answer.returncode != 0:
                bad.append(str(file.relative_to(ROOT)))
                say(answer.stdout[-4000:])
    say(f"{reached} of {len(files)} changed sources checked" + ("" if reached == len(files) else "; the time was over"))
    if bad:
        raise Failed(f"clang-tidy: {', '.join(bad)}")
