# SPDX-License-Identifier: Apache-2.0
"""bench: `bench models` times the zoo beside ONNX Runtime and writes bench/README.md; `bench NAME` runs bench/NAME.cpp."""
from . import bench_models, install
from .build import build_preset
from .steps import BUILD, ROOT, Failed, run, step


def add_commands(commands):
    bench = commands.add_parser("bench", help="`bench models`: the zoo beside ONNX Runtime; `bench NAME`: one of bench/")
    bench.add_argument("what", metavar="models|NAME", nargs="?", default="models")
    bench.add_argument("--threads", type=int, default=2)
    bench.add_argument("--repeat", type=int, default=10)
    bench.add_argument("--only", default="", help="a part of the model's path")
    bench.add_argument("arguments", nargs="*", help="for bench NAME: handed on to Google Benchmark")
    bench.set_defaults(run=bench_command)


def bench_command(arguments):
    install.packages("build", "test")
    install.python_environment()
    if arguments.what == "models":
        install.models("all")
        build_preset("release", ["nbx-command"])
        with step("bench models"):
            bench_models.bench(arguments.threads, arguments.repeat, arguments.only)
        return
    known = sorted(path.stem.removeprefix("bench_") for path in (ROOT / "bench").glob("*.cpp"))
    if arguments.what not in known:
        raise Failed(f"'{arguments.what}' is no bench; there are: models {' '.join(known)}")
    build_preset("release", [f"bench-{arguments.what}"])
    with step(f"bench {arguments.what}"):
        run([BUILD / "release/bin" / f"bench-{arguments.what}", *arguments.arguments])
