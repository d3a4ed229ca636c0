// SPDX-License-Identifier: Apache-2.0
// Cost and key rules that many declarations share.
#include "facts/profile.h"
#include "ops/declare.h"

namespace nbx {

namespace {

// A broadcast operand is read once: the elements its storage really has.
int64_t distinct_bytes(const Meta& m) {
  int64_t n = 1;
  for (size_t i = 0; i < m.shape.size(); ++i)
    if (m.strides[i] != 0 || m.shape[i] == 0) n *= m.shape[i];
  return n * itemsize(m.dtype);
}

}  // namespace

Cost pointwise_cost(const Args& args, const Metas& outputs) {
  Cost c = copy_cost(args, outputs);
  for (const Meta& m : outputs)
    if (m.alias < 0) c.flops += m.numel();
  return c;
}

Cost copy_cost(const Args& args, const Metas& outputs) {
  Cost c;
  bool launches = false;
  for (const Meta& m : outputs) {
    if (m.alias >= 0) continue;
    launches = true;
    c.written += m.bytes();
  }
  if (!launches) return {};
  for (const Meta& m : args.operands()) c.read += distinct_bytes(m);
  return c;
}

void shape_keys(const Args& args, const Metas& outputs, const Profile&, KeySink& out) {
  if (!outputs.empty()) {
    bool launches = false;
    for (const Meta& m : outputs) launches = launches || m.alias < 0;
    if (!launches) return;
  }
  std::vector<KeyElement> key;
  for (const Meta& m : args.operands()) key.push_back(tag(m.dtype));
  for (const Meta& m : outputs) {
    key.push_back(tag(m.dtype));
    for (const int64_t extent : m.shape) key.push_back(pow2_bucket(extent));
  }
  out.add(args.schema().full_name(), std::move(key));
}

}  // namespace nbx
