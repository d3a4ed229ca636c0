// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/eager.h"

namespace nbx {

namespace {

// What decided how a path went on: the bytes of the wanted values and the extents of host results.
using Answer = std::vector<int64_t>;

// Other answers to one question that are kept ready.
constexpr size_t kMaxChildren = 64;

}  // namespace

struct Runner::Node {
  PathState path;  // after this stage; continues in the children
  Stage stage;
  std::unique_ptr<Program> program;
  int64_t arena_bytes = 0;  // up to here
  int64_t lower_bound = 0;
  std::vector<int64_t> answer;  // of the current run, reused
  struct Child {
    Answer answer;
    std::unique_ptr<Node> node;
  };
  std::vector<Child> children;  // most recently used last

  int programs() const {
    int count = 1;
    for (const Child& c : children) count += c.node->programs();
    return count;
  }
};

struct Runner::Root {
  std::vector<std::pair<DType, Shape>> inputs;
  std::unique_ptr<Node> node;
};

Runner::Runner(const Graph& graph, PackCache& packs, Team& team, const SessionOptions& options,
               const std::atomic<bool>* stop)
    : graph_(graph), packs_(packs), team_(team), options_(options), stop_(stop ? *stop : cancelled_) {}
Runner::~Runner() = default;

std::unique_ptr<Runner::Node> Runner::make_node(PathState path, std::vector<Buffer> carried,
                                                std::vector<int> carried_cells) {
  auto node = std::make_unique<Node>();
  node->path = std::move(path);
  node->stage = lower_stage(node->path, lower_options(options_, &packs_));
  node->program = std::make_unique<Program>(node->stage, node->path.cells, carried, carried_cells,
                                            static_cast<int>(graph_.inputs.size()));
  node->arena_bytes = node->program->layout().arena_bytes;
  if (options_.memory_limit > 0 && node->arena_bytes > options_.memory_limit)
    fail(
        Code::budget,
        "'{}' needs {} bytes for activations with these inputs (no plan can need less than {}), the limit is {}; raise "
        "the limit or make the inputs smaller",
        graph_.name, node->arena_bytes, node->program->layout().lower_bound, options_.memory_limit);
  node->program->bind(arena_);
  node->lower_bound = node->program->layout().lower_bound;
  if (node->arena_bytes > stats_.arena_bytes) {
    stats_.arena_bytes = node->arena_bytes;
    stats_.lower_bound_bytes = node->lower_bound;
  }
  node->stage.steps.clear();  // bound; only what decides how to go on is read again
  return node;
}

Runner::Node& Runner::root_for(std::span<const Tensor> inputs) {
  for (size_t i = roots_.size(); i-- > 0;) {
    const auto& known = roots_[i]->inputs;
    bool same = known.size() == inputs.size();
    for (size_t k = 0; same && k < known.size(); ++k)
      same = known[k].first == inputs[k].dtype() && known[k].second == inputs[k].shape();
    if (!same) continue;
    std::rotate(roots_.begin() + static_cast<std::ptrdiff_t>(i), roots_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                roots_.end());
    return *roots_.back()->node;
  }
  if (!roots_.empty() && roots_.size() >= static_cast<size_t>(std::max(1, options_.max_programs)))
    roots_.erase(roots_.begin());
  auto root = std::make_unique<Root>();
  Metas metas;
  for (const Tensor& t : inputs) {
    root->inputs.emplace_back(t.dtype(), t.shape());
    metas.emplace_back(t.dtype(), t.shape());
  }
  root->node = make_node(begin_path(graph_, metas), {}, {});
  roots_.push_back(std::move(root));
  return *roots_.back()->node;
}

Tensor Runner::cell_tensor(const Node& node, int c) const {
  const Cell& cell = node.path.cells[static_cast<size_t>(c)];
  if (cell.meta.known.defined()) return cell.meta.known;
  std::byte* at = node.program->address(c, node.path.cells, arena_.base(), slots_.data());
  // A window around the view: strides may be negative, so it starts at the lowest address.
  int64_t lowest = 0, highest = 0;
  for (size_t d = 0; d < cell.meta.shape.size(); ++d) {
    if (cell.meta.shape[d] == 0) return Tensor::empty(cell.meta.shape, cell.meta.dtype);
    const int64_t reach = (cell.meta.shape[d] - 1) * cell.meta.strides[d];
    (reach < 0 ? lowest : highest) += reach;
  }
  const int64_t size = itemsize(cell.meta.dtype);
  auto storage = Storage::borrow(at + lowest * size, (highest - lowest + 1) * size, nullptr, true);
  return Tensor(std::move(storage), cell.meta.dtype, cell.meta.shape, cell.meta.strides, -lowest);
}

void Runner::copy_output(const Node& node, int c, const Tensor& to) const {
  const Cell& cell = node.path.cells[static_cast<size_t>(c)];
  if (!cell.meta.contiguous()) {
    to.copy_(cell_tensor(node, c));
    return;
  }
  const void* from = cell.meta.known.defined()
                         ? cell.meta.known.raw()
                         : node.program->address(c, node.path.cells, arena_.base(), slots_.data());
  if (to.nbytes() > 0) std::memcpy(to.raw_mutable(), from, static_cast<size_t>(to.nbytes()));
}

Runner::Node& Runner::child_for(Node& node) {
  node.answer.clear();
  for (const int c : node.stage.wants) {
    const Cell& cell = node.path.cells[static_cast<size_t>(c)];
    if (cell.meta.contiguous()) {  // the usual case, without an allocation
      const std::byte* at = node.program->address(c, node.path.cells, arena_.base(), slots_.data());
      const int64_t bytes = cell.meta.bytes();
      for (int64_t i = 0; i < bytes; i += 8) {
        int64_t word = 0;
        std::memcpy(&word, at + i, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
        node.answer.push_back(word);
      }
    } else {
      for (const std::byte b : cell_tensor(node, c).to_bytes()) node.answer.push_back(static_cast<int64_t>(b));
    }
  }
  // Host results lie in the slots after the path's own, in order.
  const size_t first = static_cast<size_t>(node.path.slots);
  for (size_t s = first; s < held_.size(); ++s) {
    if (!held_[s].defined()) break;
    node.answer.push_back(static_cast<int64_t>(held_[s].dtype()));
    node.answer.push_back(held_[s].rank());
    for (const int64_t e : held_[s].shape()) node.answer.push_back(e);
  }
  for (size_t i = node.children.size(); i-- > 0;) {
    if (node.children[i].answer != node.answer) continue;
    std::rotate(node.children.begin() + static_cast<std::ptrdiff_t>(i),
                node.children.begin() + static_cast<std::ptrdiff_t>(i) + 1, node.children.end());
    return *node.children.back().node;
  }
  if (node.children.size() >= kMaxChildren) node.children.erase(node.children.begin());

  std::vector<Tensor> values;
  for (const int c : node.stage.wants) values.push_back(cell_tensor(node, c).clone());
  std::vector<Metas> results;
  size_t slot = first;
  for (const HostCall& h : node.stage.host_calls) {
    const nbx::Node& n = node.path.frames[static_cast<size_t>(h.frame)].graph->nodes[static_cast<size_t>(h.node)];
    Metas metas;
    for (size_t i = 0; i < n.outputs.size(); ++i) metas.push_back(Meta::of(held_[slot++]));
    results.push_back(std::move(metas));
  }
  PathState path = node.path;
  resume_path(path, node.stage, values, results);
  auto [carried, carried_cells] = node.program->carry(node.stage);
  Answer answer = node.answer;
  node.children.push_back(
      {std::move(answer), make_node(std::move(path), std::move(carried), std::move(carried_cells))});
  return *node.children.back().node;
}

Runner& Runner::body_runner(const Graph& body) {
  auto& slot = bodies_[&body];
  if (!slot) slot = std::make_unique<Runner>(body, packs_, team_, options_, &stop_);
  return *slot;
}

std::vector<Tensor> Runner::host_call(const HostCall& h, Node& at) {
  const nbx::Node& node = at.path.frames[static_cast<size_t>(h.frame)].graph->nodes[static_cast<size_t>(h.node)];
  try {
    if (node.op->parsed.name == "loop" && node.op->has(kControl)) return run_loop(node, h.values, at);
    if (node.op->parsed.name == "scan" && node.op->has(kControl)) return run_scan(node, h.values, at);
    Call call;
    call.op = node.op;
    call.values = h.values;
    const auto take = [&](TensorRef& r) {
      if (!r.defined()) return;
      call.tensors.push_back(cell_tensor(at, r.id));
      r.id = static_cast<int>(call.tensors.size()) - 1;
    };
    for (Value& v : call.values) {
      if (auto* r = std::get_if<TensorRef>(&v)) take(*r);
      if (auto* list = std::get_if<TensorRefs>(&v))
        for (TensorRef& r : *list) take(r);
    }
    EagerOptions eager;
    eager.team = &team_;
    std::vector<Tensor> results = run_call(call, eager);
    for (Tensor& t : results) t = t.is_contiguous() ? t : t.contiguous();
    return results;
  } catch (const Error& e) {
    const std::string what = e.what();
    if (e.code() == Code::cancelled || what.rfind("node '", 0) == 0) throw;
    throw Error(e.code(), fmt::format("node '{}': {}", node.name, what));
  }
}

void Runner::run_host_calls(Node& node) {
  size_t slot = static_cast<size_t>(node.path.slots);
  for (const HostCall& h : node.stage.host_calls) {
    for (Tensor& t : host_call(h, node)) {
      if (held_.size() <= slot) held_.resize(slot + 1);
      if (slots_.size() <= slot) slots_.resize(slot + 1, nullptr);
      // The results outlive the arena's next stage, so views into it are copied.
      const std::byte* p = static_cast<const std::byte*>(t.raw());
      const bool in_arena = arena_.base() && p >= arena_.base() && p < arena_.base() + arena_.usable();
      held_[slot] = in_arena ? t.clone() : std::move(t);
      slots_[slot] = static_cast<std::byte*>(const_cast<void*>(held_[slot].raw()));
      ++slot;
    }
  }
}

void Runner::run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs) {
  NBX_ASSERT(inputs.size() == graph_.inputs.size());
  cancelled_ = false;
  const size_t ins = inputs.size(), outs = graph_.outputs.size();
  outputs.resize(outs);
  slots_.resize(std::max(slots_.size(), ins + outs), nullptr);
  std::vector<Tensor> dense;  // stays empty in the usual case
  for (size_t i = 0; i < ins; ++i) {
    if (inputs[i].is_contiguous()) {
      slots_[i] = static_cast<std::byte*>(const_cast<void*>(inputs[i].raw()));
    } else {
      dense.push_back(inputs[i].contiguous());
      slots_[i] = static_cast<std::byte*>(const_cast<void*>(dense.back().raw()));
    }
  }
  for (size_t s = ins + outs; s < held_.size(); ++s) held_[s] = Tensor();

  Node* node = &root_for(inputs);
  while (true) {
    for (const auto& [position, c] : node->stage.outputs) {
      const Meta& m = node->path.cells[static_cast<size_t>(c)].meta;
      Tensor& t = outputs[static_cast<size_t>(position)];
      bool fits = t.defined() && t.dtype() == m.dtype && t.shape() == m.shape && t.is_contiguous() &&
                  t.storage()->writable() && t.device().kind == DeviceKind::cpu;
      for (size_t i = 0; fits && i < ins; ++i) fits = inputs[i].storage() != t.storage();
      for (size_t i = 0; fits && i < outs; ++i)
        fits = static_cast<int>(i) == position || !outputs[i].defined() || outputs[i].storage() != t.storage();
      if (!fits) t = Tensor::empty(m.shape, m.dtype);
      slots_[ins + static_cast<size_t>(position)] = static_cast<std::byte*>(t.raw_mutable());
    }
    node->program->run(slots_.data(), team_, stop_, profile_);
    for (const auto& [position, c] : node->program->copied_outputs())
      copy_output(*node, c, outputs[static_cast<size_t>(position)]);
    if (node->stage.finished) break;
    run_host_calls(*node);
    node = &child_for(*node);
  }
  for (size_t s = ins + outs; s < held_.size(); ++s) held_[s] = Tensor();
  ++stats_.runs;
}

SessionStats Runner::stats() const {
  SessionStats s = stats_;
  s.programs = 0;
  for (const auto& root : roots_) s.programs += root->node->programs();
  s.packed_bytes = packs_.bytes();
  return s;
}

std::string Runner::describe(const Metas& inputs) {
  PathState path = begin_path(graph_, inputs);
  const Stage stage = lower_stage(path, lower_options(options_, &packs_));
  const Program program(stage, path.cells, {}, {}, static_cast<int>(graph_.inputs.size()));
  std::string out = program.text(path.cells);
  if (!stage.finished)
    out += fmt::format("then {} values and {} host calls decide how to go on\n", stage.wants.size(),
                       stage.host_calls.size());
  return out;
}

}  // namespace nbx
