// SPDX-License-Identifier: Apache-2.0
// The kinds of golden data that nbx-golden checks, one function a kind. Each gets the arguments after the kind's name,
// prints every failing case and, last, "N passed, N failed, N skipped". Exit code: 0, 1 when a case failed, 2 for bad
// input.
#pragma once

int golden_promotion(int argc, char** argv);  // FILE
int golden_model(int argc, char** argv);      // DIR --weights DIR [--threads 1,2]
int golden_onnx_node(int argc, char** argv);  // DIR [--list FILE]
int golden_ops(int argc, char** argv);        // DIR [--only PART] [--verbose]
