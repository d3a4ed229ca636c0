#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The references of the real models that the tests carry: tests/models/NAME.tar.xz, each a manifest.json with its tensors.

    models.py run NAME --golden nbx-golden --into FOLDER --weights FOLDER   unpack, then `nbx-golden model`; ctest calls it
    models.py pack FOLDER...                                                make the archives again (same input, same bytes)

`run` ends with 77 (ctest: skipped) when the model's package is not in the weights folder, and says what to install; with
NBX_REQUIRE_MODELS=1 that is a failure.
"""
import argparse
import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def pack(folder):
    """Without the pictures and sounds that the tensors were made from; no times, owners or modes of this machine."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".json", ".safetensors"):
                continue
            data = path.read_bytes()
            entry = tarfile.TarInfo(path.name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    target = HERE / f"{folder.name}.tar.xz"
    target.write_bytes(lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{target.name}: {target.stat().st_size} bytes")


def unpack(name, into):
    """Once for each content of the archive."""
    archive = HERE / f"{name}.tar.xz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    folder, mark = into / name, into / name / ".sha256"
    if mark.exists() and mark.read_text() == digest:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive, "r:xz") as content:
        for entry in content:
            if not entry.isfile() or "/" in entry.name or entry.name.startswith("."):
                sys.exit(f"{archive}: unexpected entry '{entry.name}'")
            (folder / entry.name).write_bytes(content.extractfile(entry).read())
    mark.write_text(digest)
    return folder


def missing_files(manifest, weights):
    """The files that the cases need and the weights folder lacks."""
    wanted = set()
    for case in manifest["cases"]:
        graphs = case["graph"] if isinstance(case["graph"], list) else [case["graph"]]
        wanted.update(graph.split("!")[0] for graph in graphs)
    return sorted(path for path in wanted if not (weights / path).exists())


def check_sizes(manifest, weights):
    """Another version of the package gives other answers: said here, not as a wrong result."""
    for file in manifest.get("files", []):
        path = weights / file["path"]
        if path.exists() and path.stat().st_size != file["bytes"]:
            sys.exit(f"{path} has {path.stat().st_size} bytes, the references were made with {file['bytes']}: "
                     f"{manifest['package']['install']}")


def run(arguments):
    weights = Path(os.environ.get("NBX_MODELS_DIR") or arguments.weights)
    folder = unpack(arguments.name, Path(arguments.into))
    manifest = json.loads((folder / "manifest.json").read_text())
    missing = missing_files(manifest, weights)
    if missing:
        required = os.environ.get("NBX_REQUIRE_MODELS") == "1"
        package = manifest["package"]
        print(f"{'FAIL' if required else 'skipped'}: {weights} lacks {', '.join(missing)}; "
              f"./nbx-dev test installs {package['name']}=={package['version']}")
        return 1 if required else SKIPPED
    check_sizes(manifest, weights)
    result = subprocess.run([arguments.golden, "model", folder, "--weights", weights, "--threads", "1,2"],
                            capture_output=True, text=True)
    print(result.stdout, result.stderr, sep="", end="")
    # All of a carried model's cases are supported: a skipped one would pass unseen.
    counts = result.stdout.strip().splitlines()[-1:] or [""]
    if result.returncode == 0 and not counts[0].endswith(" 0 skipped"):
        print("FAIL: a case was skipped")
        return 1
    return result.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("name")
    one.add_argument("--golden", required=True)
    one.add_argument("--into", required=True)
    one.add_argument("--weights", required=True)
    one.set_defaults(call=run)
    make = commands.add_parser("pack")
    make.add_argument("folders", nargs="+", type=Path)
    make.set_defaults(call=lambda arguments: [pack(folder) for folder in arguments.folders] and 0)
    arguments = parser.parse_args()
    return arguments.call(arguments)


if __name__ == "__main__":
    sys.exit(main())
