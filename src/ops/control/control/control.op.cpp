// SPDX-License-Identifier: Apache-2.0
// Control flow: If, Loop and Scan of ONNX. Their bodies are graphs held by the node. They are never launched: the
// specialiser inlines the branch that is taken and runs loops between two programs (runtime/specialise.h), so the parts
// below only say that a bare call cannot be made.
#include "ops/declare.h"

namespace nbx::decls {

namespace {

Metas infer(const Args& a) {
  fail(Code::unsupported, "{}: has bodies, which a call by itself does not carry; put it into a graph", a.op());
}
Cost cost(const Args&, const Metas&) { return {}; }
void keys(const Args&, const Metas&, const Profile&, KeySink&) {}

void if_samples(SampleSink& s) {
  s.error(Code::unsupported, {"bodies"}, {Tensor::scalar<bool>(true), std::vector<Tensor>{}});
}
void loop_samples(SampleSink& s) {
  s.error(Code::unsupported, {"bodies"},
          {Tensor::scalar<int64_t>(1), Tensor::scalar<bool>(true), std::vector<Tensor>{}, std::vector<Tensor>{}});
}
void scan_samples(SampleSink& s) {
  s.error(Code::unsupported, {"bodies"},
          {std::vector<Tensor>{}, std::vector<Tensor>{randn({2})}, std::vector<Tensor>{}});
}

OpDecl control(const char* schema, SamplesFn samples, const char* source) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = keys;
  d.samples = samples;
  d.flags = kControl;
  d.source = source;
  return d;
}

}  // namespace

Decls control() {
  return {
      control("custom::if(Tensor cond, Tensor[] captures) -> Tensor[]", if_samples, "ONNX If"),
      control("custom::loop(Tensor? trip_count, Tensor? cond, Tensor[] state, Tensor[] captures) -> Tensor[]",
              loop_samples, "ONNX Loop"),
      control("custom::scan(Tensor[] state, Tensor[] scans, Tensor[] captures, int[] input_axes=[], "
              "int[] input_directions=[], int[] output_axes=[], int[] output_directions=[]) -> Tensor[]",
              scan_samples, "ONNX Scan"),
  };
}

}  // namespace nbx::decls
