# SPDX-License-Identifier: Apache-2.0
"""same: a refactor is proven by replay. Plans and program dumps of the zoo must be byte-equal to another commit's."""
import shutil
import subprocess

from . import bench_models, install
from .build import build_preset
from .steps import BUILD, ROOT, Failed, jobs, output_of, run, say, step

# Each dump is the output of `nbx COMMAND` for a model; paths are relative to .models so that both trees print the same.
DUMPS = {"plan": ("inspect", "{model}", "--plan", "--json"), "graph": ("inspect", "{model}", "--text")}


def shapes(model):
    """--shape arguments where the benchmark knows sensible ones; elsewhere free extents are 1."""
    for _, path, inputs in bench_models.CASES:
        if path == str(model):
            # [dtype, shape, low, high] is drawn, [dtype, values] is given: its shape is that of the values.
            extents = {name: how[1] if len(how) == 4 else [len(how[1])] if isinstance(how[1], list) else []
                       for name, how in inputs.items()}
            given = [f"{name}={','.join(map(str, shape))}" for name, shape in extents.items() if shape]
            return [part for shape in given for part in ("--shape", shape)]
    return []


def add_commands(commands):
    same = commands.add_parser("same", help="plans and program dumps of the zoo, byte-equal to another commit's")
    same.add_argument("commit", nargs="?", default="HEAD", help="what to compare the working tree with (default HEAD)")
    same.add_argument("--models", default="all", help="a part of the models' paths; default all")
    same.set_defaults(run=same_command)


def same_command(arguments):
    install.everything_to_build()
    install.models("all")
    commit = output_of(["git", "rev-parse", "--verify", f"{arguments.commit}^{{commit}}"]).strip()
    there = BUILD / "same" / commit[:12]
    tree = there / "tree"
    if not tree.exists():
        with step(f"worktree of {commit[:12]}"):
            run(["git", "worktree", "prune"])
            run(["git", "worktree", "add", "--detach", "--force", tree, commit], log="same-worktree.log")
    with step(f"build {commit[:12]}"):
        run(["cmake", "--preset", "release", "-S", tree, "-B", there / "build", "-DNBX_BUILD_TESTS=OFF",
             "-DNBX_BUILD_BENCH=OFF", "-DNBX_BUILD_EXAMPLES=OFF", f"-DNBX_ONNX_PROTO={install.onnx_proto()}"],
            cwd=tree, log="same-configure.log")
        run(["ninja", "-C", there / "build", f"-j{jobs()}", "nbx-command"], log="same-build.log")
    build_preset("release", ["nbx-command"])

    models = sorted(path.relative_to(install.MODELS) for path in install.MODELS.rglob("*.onnx"))
    if arguments.models != "all":
        models = [model for model in models if arguments.models in str(model)]
    if not models:
        raise Failed(f"no model in .models matches '{arguments.models}'")
    with step(f"compare {len(models)} models"):
        compare(models, BUILD / "release/bin/nbx", there / "build/bin/nbx", there)


def compare(models, here_program, there_program, folder):
    differing, unknown = [], 0
    for model in models:
        for kind, command in DUMPS.items():
            stem = str(model).replace("/", "__") + f".{kind}"
            here = dump(here_program, command, model, folder / "dumps/here" / stem)
            there = dump(there_program, command, model, folder / "dumps/there" / stem)
            if here == there:
                unknown += here[0] != 0
                say(f"  refused    {model} {kind}: {first_line(here[1])}" if here[0] else f"  same       {model} {kind}")
                continue
            differing.append(f"{model} {kind}")
            say(f"  DIFFERENT  {model} {kind}: {first_difference(here, there)}")
    say(f"{len(models) * len(DUMPS)} dumps compared, {unknown} of them refused in both trees; "
        f"they are in {(folder / 'dumps').relative_to(ROOT)}")
    if unknown == len(models) * len(DUMPS):
        raise Failed("no model could be dumped in either tree: nothing was compared")
    if differing:
        raise Failed(f"{len(differing)} differ: {', '.join(differing[:6])}")


def dump(program, command, model, path):
    filled = [part.format(model=model) for part in command] + (shapes(model) if "--plan" in command else [])
    result = subprocess.run([str(program), *filled], cwd=install.MODELS, capture_output=True, timeout=600)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(result.stdout)
    return result.returncode, result.stdout if result.returncode == 0 else result.stderr


def first_line(text):
    return text.decode(errors="replace").strip().partition("\n")[0][:120]


def first_difference(here, there):
    if here[0] != there[0]:
        return f"exit codes {here[0]} here and {there[0]} there: {first_line(here[1] if here[0] else there[1])}"
    a, b = (text.decode(errors="replace").splitlines() for _, text in (here, there))
    for number, (left, right) in enumerate(zip(a, b), 1):
        if left != right:
            at = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right)))
            return f"line {number}, column {at + 1}: here '{left[max(0, at - 20):at + 40]}', there '{right[max(0, at - 20):at + 40]}'"
    return f"{len(a)} lines here, {len(b)} there"


def remove_worktrees():
    """`clean` removes build/; git's note of the worktrees goes with it."""
    if (BUILD / "same").exists():
        shutil.rmtree(BUILD / "same")
        run(["git", "worktree", "prune"])
