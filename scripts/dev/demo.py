# SPDX-License-Identifier: Apache-2.0
"""demo: from a clone to answers: installs what is missing, builds, fetches three models, runs the example."""
from . import install
from .build import build_preset
from .steps import BUILD, ROOT, Failed, run, step


def add_commands(commands):
    demo = commands.add_parser("demo", help="install, build and run the demo: file types, speech, a page of text")
    demo.add_argument("--threads", type=int, default=0, help="threads to run on (default: all cores)")
    demo.set_defaults(run=demo_command)


def demo_command(arguments):
    install.packages("build")
    install.python_environment()
    install.models("demo")
    # What tests and benches need is not installed here; `build` and `test` switch them on again.
    options = ["-DNBX_BUILD_TESTS=OFF", "-DNBX_BUILD_BENCH=OFF"]
    build_preset("release", options=options, configure_only=True)
    with step("build release"):
        run(["cmake", "--build", BUILD / "release", "--target", "example-demo", "nbx-command"], log="build-release.log")
    output = BUILD / "demo"
    output.mkdir(parents=True, exist_ok=True)
    program = BUILD / "release/bin/example-demo"
    if not program.exists():
        raise Failed("the demo was not built")
    with step("demo"):
        command = [program, "--models", install.MODELS, "--data", ROOT / "examples/data", "--out", output]
        if arguments.threads:
            command += ["--threads", arguments.threads]
        run(command)
