# SPDX-License-Identifier: Apache-2.0
"""Writes print.json: arrays (dtype, shape, bytes in hex) and what NumPy's str() makes of them. python make_print.py [SEED COUNT]"""
import json
import pathlib
import sys

import numpy as np

TYPES = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint16", "uint64", "bool", "complex64", "complex128"]


def case(array, precision=8, threshold=1000, edge=3, width=75):
    with np.printoptions(precision=precision, threshold=threshold, edgeitems=edge, linewidth=width):
        text = str(array)
    options = {"precision": precision, "threshold": threshold, "edge": edge, "width": width}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": np.ascontiguousarray(array).tobytes().hex(),
            **options, "text": text}


def chosen():
    for dtype in ("float32", "float64", "float16"):
        t = np.dtype(dtype).type
        for value in (0, -0.0, 1, -1.5, 0.1, 1e-4, 9.9e-5, 999, 1000, 65504, 1e6, 999999.0, 1.2345678901234567, np.inf, -np.inf, np.nan):
            yield case(np.array(value).astype(t))
        yield case(np.array([1, 2.5, -3]).astype(t))
        yield case(np.array([np.nan, np.nan]).astype(t))
        yield case(np.array([np.inf, 1, -np.inf]).astype(t), precision=4)
        yield case(np.array([1e-6, 1, 1000]).astype(t), precision=4)
        yield case(np.array([0.99996, 0.5]).astype(t), precision=4)
        yield case(np.array([0.125, 0.375, 2.5]).astype(t), precision=2)
    yield case(np.array([1e300, 1e-300]))
    yield case(np.arange(24, dtype="int64").reshape(2, 3, 4))
    yield case(np.arange(120, dtype="float32") / 7, precision=4)
    yield case(np.arange(3000, dtype="int32").reshape(30, 100))
    yield case(np.arange(60, dtype="int32").reshape(2, 5, 6), threshold=10, edge=2)
    yield case(np.zeros((0, 3), "float32"))
    yield case(np.array([[True, False], [False, True]]))
    yield case(np.array(True))
    yield case(np.array([2**64 - 1, 0], "uint64"))
    yield case(np.array([-(2**63), 7], "int64"))
    for value in (1 + 2j, 3j, -1j, complex("nan"), complex(0.1, -np.inf), 1e6 + 1e-5j):
        yield case(np.array(value, "complex64"))
    yield case(np.array([1 + 2j, -0.5 - 1e3j, complex(np.nan, np.inf)], "complex128"), precision=4)


def random(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(0, 4)))
        t = np.dtype(TYPES[rng.integers(len(TYPES))])
        if rng.random() < 0.3:  # any bits
            array = np.frombuffer(rng.bytes(int(np.prod(shape)) * t.itemsize), t).reshape(shape)
            if t.kind == "b":
                array = np.frombuffer(rng.bytes(int(np.prod(shape))), "uint8").reshape(shape) > 127
        else:
            scale = 10.0 ** rng.integers(-3, 5)
            array = rng.standard_normal(shape) * scale
            if rng.random() < 0.3:
                array = np.round(array, int(rng.integers(0, 3)))
            if t.kind == "c":
                array = array + 1j * rng.standard_normal(shape)
            if t.kind in "fc" and rng.random() < 0.2 and array.ndim:
                array.flat[0] = rng.choice([np.nan, np.inf, -np.inf])
            if t.kind in "iu":
                array = np.clip(array, np.iinfo(t).min, np.iinfo(t).max)
            array = np.asarray(array).astype(t)
        yield case(array, int(rng.integers(0, 9)), int(rng.choice([5, 20, 1000])), int(rng.integers(1, 4)),
                   int(rng.choice([20, 40, 75])))


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        if len(sys.argv) == 3:
            print(json.dumps(list(random(int(sys.argv[1]), int(sys.argv[2])))))
        else:
            cases = list(chosen()) + list(random(1, 60))
            lines = ",\n".join(json.dumps(c) for c in cases)
            (pathlib.Path(__file__).parent / "print.json").write_text("[\n" + lines + "\n]\n")
