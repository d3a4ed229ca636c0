#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the backend node tests that the installed onnx package generates, one folder a case:

    CASE/model.onnx  CASE/input_0.pb ...  CASE/output_0.pb ...  CASE/case.json

case.json: {"rtol": ..., "atol": ..., "inputs": [kind, ...], "outputs": [kind, ...]}; kind is "tensor", or what else the
case passes ("sequence", "optional"), for which no .pb is written. Usage: make_node_tests.py FOLDER
A folder that is complete for the same onnx version is left as it is.
"""
import json
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

warnings.filterwarnings("ignore")


def bare(value):
    """The TensorProto of a case's value, or None where it is no tensor."""
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return numpy_helper.from_array(np.asarray(value))
    return None


def write(case, folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(case.model.SerializeToString())
    about = {"rtol": case.rtol, "atol": case.atol}
    inputs, outputs = case.data_sets[0]
    for role, values in (("input", inputs), ("output", outputs)):
        kinds = []
        for i, value in enumerate(values):
            tensor = bare(value)
            kinds.append("tensor" if tensor is not None else type(value).__name__)
            if tensor is not None:
                with open(os.path.join(folder, f"{role}_{i}.pb"), "wb") as f:
                    f.write(tensor.SerializeToString())
        about[role + "s"] = kinds
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(about, f)


def main():
    target = sys.argv[1]
    stamp = os.path.join(target, "complete")
    if os.path.exists(stamp) and open(stamp).read() == onnx.__version__:
        return
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    from onnx.backend.test.loader import load_model_tests

    cases = load_model_tests(kind="node")
    for case in cases:
        write(case, os.path.join(target, case.name))
    with open(stamp, "w") as f:
        f.write(onnx.__version__)
    print(f"{len(cases)} cases in {target}")


if __name__ == "__main__":
    main()
