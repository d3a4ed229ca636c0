# SPDX-License-Identifier: Apache-2.0
"""Run by bench_models.py in the benchmark's environment: `inputs SPEC FILE` makes an npz, `time MODEL FILE ...` times it.

SPEC is JSON: {name: [dtype, shape, low, high]} (a fixed seed; integers include `high`), or {name: [dtype, values]}.
"""
import json
import statistics
import sys
import time

import numpy as np


def make_inputs(spec, file):
    draw = np.random.default_rng(7)
    arrays = {}
    for name, (dtype, *how) in json.loads(spec).items():
        if len(how) == 1:
            arrays[name] = np.array(how[0], dtype)
            continue
        shape, low, high = how
        if dtype.startswith("int"):
            arrays[name] = draw.integers(low, high, size=shape, endpoint=True).astype(dtype)
        else:
            arrays[name] = (low + (high - low) * draw.random(size=shape)).astype(dtype)
    np.savez(file, **arrays)


def time_model(model, file, threads, repeat):
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    load = (time.perf_counter() - start) * 1e3
    # Bound once: a run is then the engine's own time, without Python's conversions.
    binding = session.io_binding()
    wanted = {node.name for node in session.get_inputs()}
    for name, array in np.load(file).items():
        if name in wanted:
            binding.bind_cpu_input(name, array)
    for node in session.get_outputs():
        binding.bind_output(node.name)
    session.run_with_iobinding(binding)
    took = []
    for _ in range(repeat):
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        took.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"ms": {"min": min(took), "median": statistics.median(took)}, "load_ms": load,
                      "version": onnxruntime.__version__}))


if __name__ == "__main__":
    if sys.argv[1] == "inputs":
        make_inputs(sys.argv[2], sys.argv[3])
    else:
        time_model(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
