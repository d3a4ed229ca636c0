// SPDX-License-Identifier: Apache-2.0
// Loop and Scan: the body is a graph with a runner of its own, called once an iteration.
#include <fmt/format.h>

#include "base/check.h"
#include "runtime/runner.h"

namespace nbx {

namespace {

// The pieces of a scan output side by side along a new axis, in one growing block: a loop may make any number of them.
class Stack {
 public:
  Stack(int64_t axis, bool reversed, TypeSpec declared)
      : axis_(axis), reversed_(reversed), declared_(std::move(declared)) {}

  void add(const Tensor& piece) {
    if (count_ == 0) {
      first_ = piece.shape();
      dtype_ = piece.dtype();
    }
    require(piece.shape() == first_ && piece.dtype() == dtype_, Code::shape,
            "iteration {} gives {}, the first one gave {}", count_, describe(piece), describe(dtype_, first_));
    if (count_ == room_) {
      const int64_t more = room_ == 0 ? 1 : room_ * 2;
      Shape shape = first_;
      shape.insert(shape.begin(), more);
      const Tensor grown = Tensor::empty(shape, dtype_);
      if (count_ > 0) grown.narrow(0, 0, count_).copy_(all_);
      all_ = grown;
      room_ = more;
    }
    all_.select(0, count_++).copy_(piece);
  }

  int64_t bytes() const { return all_.defined() ? all_.nbytes() : 0; }

  // With no piece the shape is what the body declares, where it does.
  Tensor result() const {
    if (count_ == 0) {
      Shape shape{0};
      if (declared_.dims)
        for (const DimSpec& d : *declared_.dims) shape.push_back(d.fixed() ? d.extent : 0);
      return Tensor::empty(shape, declared_.dtype.value_or(DType::float32));
    }
    const int64_t rank = static_cast<int64_t>(first_.size()) + 1, axis = axis_ < 0 ? axis_ + rank : axis_;
    require(axis >= 0 && axis < rank, Code::index, "output axis {} is out of range for rank {}", axis_, rank);
    Tensor out = all_.narrow(0, 0, count_);
    if (reversed_) out = out.flip({0});
    if (axis != 0) {
      Ints order;
      for (int64_t d = 1; d < rank; ++d) order.push_back(d);
      order.insert(order.begin() + axis, 0);
      out = out.permute(order);
    }
    return count_ == room_ ? out.contiguous() : out.clone();
  }

 private:
  int64_t axis_;
  bool reversed_;
  TypeSpec declared_;
  Tensor all_;
  Shape first_;
  DType dtype_ = DType::float32;
  int64_t count_ = 0, room_ = 0;
};

// What an iteration leaves for the next one must stay within the session's limit: a state may grow without bound.
void check_held(std::span<const Tensor> state, std::span<const Stack> pieces, int64_t limit, int64_t iteration,
                const std::string& name) {
  if (limit <= 0) return;
  int64_t bytes = 0;
  for (const Tensor& t : state) bytes += t.nbytes();
  for (const Stack& s : pieces) bytes += s.bytes();
  if (bytes > limit)
    fail(Code::budget, "'{}' holds {} bytes after iteration {}, the limit is {}", name, bytes, iteration, limit);
}

}  // namespace

std::vector<Tensor> Runner::run_loop(const nbx::Node& node, const std::vector<Value>& values, const Node& at) {
  const Graph& body = *node.bodies[0];
  const auto optional = [&](const Value& v) {
    const auto* r = std::get_if<TensorRef>(&v);
    return r && r->defined() ? cell_tensor(at, r->id) : Tensor();
  };
  const Tensor trip = optional(values[0]), first_cond = optional(values[1]);
  const int64_t limit = trip.defined() ? trip.item_int() : INT64_MAX;
  bool go = !first_cond.defined() || first_cond.item() != 0;

  // What an iteration reads must not lie in memory that the next one writes, so states are copied once.
  std::vector<Tensor> in;
  in.push_back(Tensor::scalar<int64_t>(0));
  in.push_back(first_cond.defined() ? first_cond.clone() : Tensor::scalar<bool>(true));
  const auto& state = std::get<TensorRefs>(values[2]);
  for (const TensorRef r : state) in.push_back(cell_tensor(at, r.id).clone());
  for (const TensorRef r : std::get<TensorRefs>(values[3])) in.push_back(cell_tensor(at, r.id));
  require(in.size() == body.inputs.size(), Code::value, "the loop's body has {} inputs, it is given {}",
          body.inputs.size(), in.size());
  const size_t states = state.size();
  NBX_ASSERT(body.outputs.size() >= 1 + states);
  const size_t scans = body.outputs.size() - 1 - states;
  std::vector<Stack> pieces;
  for (size_t s = 0; s < scans; ++s)
    pieces.emplace_back(0, false, body.tensors[static_cast<size_t>(body.outputs[1 + states + s])].type);

  Runner& runner = body_runner(body);
  for (int64_t i = 0; go && i < limit; ++i) {
    if (stop_) fail(Code::cancelled, "the run was cancelled in iteration {} of '{}'", i, node.name);
    in[0] = Tensor::scalar<int64_t>(i);
    std::vector<Tensor> out;
    runner.run(in, out);
    go = out[0].item() != 0;
    in[1] = out[0];
    for (size_t s = 0; s < states; ++s) in[2 + s] = out[1 + s];
    for (size_t s = 0; s < scans; ++s) pieces[s].add(out[1 + states + s]);
    check_held(std::span(in).subspan(2, states), pieces, options_.memory_limit, i, node.name);
  }
  std::vector<Tensor> results(in.begin() + 2, in.begin() + 2 + static_cast<std::ptrdiff_t>(states));
  for (const Stack& stack : pieces) results.push_back(stack.result());
  results.resize(node.outputs.size());
  return results;
}

std::vector<Tensor> Runner::run_scan(const nbx::Node& node, const std::vector<Value>& values, const Node& at) {
  const Graph& body = *node.bodies[0];
  const auto tensors = [&](const Value& v) {
    std::vector<Tensor> out;
    for (const TensorRef r : std::get<TensorRefs>(v)) out.push_back(cell_tensor(at, r.id));
    return out;
  };
  std::vector<Tensor> state = tensors(values[0]);
  for (Tensor& t : state) t = t.clone();
  const std::vector<Tensor> scanned = tensors(values[1]), captures = tensors(values[2]);
  const auto ints = [&](size_t i) { return std::get<Ints>(values[i]); };
  const Ints in_axes = ints(3), in_directions = ints(4), out_axes = ints(5), out_directions = ints(6);
  const auto pick = [](const Ints& list, size_t i) { return i < list.size() ? list[i] : 0; };

  require(!scanned.empty(), Code::value, "scan '{}' has nothing to scan over", node.name);
  const int64_t length = scanned[0].dim(pick(in_axes, 0));
  for (size_t s = 0; s < scanned.size(); ++s)
    require(scanned[s].dim(pick(in_axes, s)) == length, Code::shape,
            "scan '{}': input {} has {} steps along axis {}, the first input has {}", node.name, s,
            scanned[s].dim(pick(in_axes, s)), pick(in_axes, s), length);
  const size_t states = state.size();
  NBX_ASSERT(body.outputs.size() >= states);
  const size_t scans = body.outputs.size() - states;
  std::vector<Stack> pieces;
  for (size_t s = 0; s < scans; ++s)
    pieces.emplace_back(pick(out_axes, s), pick(out_directions, s) != 0,
                        body.tensors[static_cast<size_t>(body.outputs[states + s])].type);
  Runner& runner = body_runner(body);
  for (int64_t i = 0; i < length; ++i) {
    if (stop_) fail(Code::cancelled, "the run was cancelled in step {} of '{}'", i, node.name);
    std::vector<Tensor> in = state;
    for (size_t s = 0; s < scanned.size(); ++s)
      in.push_back(scanned[s].select(pick(in_axes, s), pick(in_directions, s) ? length - 1 - i : i));
    in.insert(in.end(), captures.begin(), captures.end());
    require(in.size() == body.inputs.size(), Code::value, "the scan's body has {} inputs, it is given {}",
            body.inputs.size(), in.size());
    std::vector<Tensor> out;
    runner.run(in, out);
    for (size_t s = 0; s < states; ++s) state[s] = out[s];
    for (size_t s = 0; s < scans; ++s) pieces[s].add(out[states + s]);
    check_held(state, pieces, options_.memory_limit, i, node.name);
  }
  std::vector<Tensor> results = std::move(state);
  for (const Stack& stack : pieces) results.push_back(stack.result());
  results.resize(node.outputs.size());
  return results;
}

}  // namespace nbx
