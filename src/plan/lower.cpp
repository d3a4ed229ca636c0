// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "ops/eager.h"
#include "plan/lowered.h"
#include "plan/symbols.h"

namespace nbx {

int add_cell(std::vector<Cell>& cells, const Meta& meta, const std::vector<int>& operands, std::string name) {
  Cell c;
  c.meta = meta;
  c.name = std::move(name);
  const int id = static_cast<int>(cells.size());
  c.root = id;
  if (meta.alias >= 0) {
    const Cell& base = cells[static_cast<size_t>(operands[static_cast<size_t>(meta.alias)])];
    c.root = base.root;
    c.offset = base.offset + meta.offset * itemsize(base.meta.dtype);
    c.place = base.place;
    c.slot = base.slot;
    if (base.meta.known.defined()) {
      const Tensor& t = base.meta.known;
      c.meta.known = t.as_strided(meta.shape, meta.strides, t.offset() + meta.offset);
    }
    c.meta.alias = -1;
    c.meta.offset = 0;
  }
  cells.push_back(std::move(c));
  return id;
}

namespace {

int add_constant(std::vector<Cell>& cells, const Tensor& value, std::string name, bool weak = false) {
  Cell c;
  c.meta = Meta::of(value, true);
  c.meta.weak = weak;
  c.place = Cell::Place::constant;
  c.root = static_cast<int>(cells.size());
  c.name = std::move(name);
  const int id = c.root;
  cells.push_back(std::move(c));
  return id;
}

int open_frame(PathState& path, const Graph& graph) {
  Frame f;
  f.graph = &graph;
  f.cell_of.assign(graph.tensors.size(), -1);
  for (size_t i = 0; i < graph.tensors.size(); ++i)
    if (graph.tensors[i].constant.defined())
      f.cell_of[i] = add_constant(path.cells, graph.tensors[i].constant, graph.tensors[i].name);
  path.frames.push_back(std::move(f));
  return static_cast<int>(path.frames.size()) - 1;
}

class Lowering {
 public:
  Lowering(PathState& path, const LowerOptions& options) : path_(path), options_(options) {}

  Stage run() {
    queue_.assign(path_.pending.begin(), path_.pending.end());
    std::vector<PathState::Item> deferred;
    while (!queue_.empty()) {
      const PathState::Item item = queue_.front();
      queue_.pop_front();
      if (!advance(item)) deferred.push_back(item);
    }
    path_.pending = std::move(deferred);
    std::sort(stage_.wants.begin(), stage_.wants.end());
    stage_.wants.erase(std::unique(stage_.wants.begin(), stage_.wants.end()), stage_.wants.end());
    stage_.finished = path_.pending.empty() && stage_.host_calls.empty();
    if (!stage_.finished && stage_.wants.empty() && stage_.host_calls.empty())
      fail(Code::internal, "nbx defect: no node of '{}' can go on", path_.frames[0].graph->name);
    const auto ready = ready_outputs();
    path_.given.resize(ready.size(), 0);
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i] < 0 || path_.given[i]) continue;
      path_.given[i] = 1;
      stage_.outputs.emplace_back(static_cast<int>(i), ready[i]);
    }

    std::vector<char> later = read_later();
    std::vector<char> needed = later;
    for (const auto& [position, cell] : stage_.outputs) needed[root(cell)] = 1;
    drop_dead(needed);
    if (options_.fuse) {
      find_activations(stage_.steps, path_.cells, needed, options_);
      fuse_epilogues(stage_.steps, path_.cells, needed, options_);
      fuse_pointwise(stage_.steps, path_.cells, needed, options_);
    }
    choose_kernels(stage_.steps, path_.cells, options_);
    for (size_t i = 0; i < later.size(); ++i)
      if (later[i] && path_.cells[i].place == Cell::Place::buffer) stage_.live_out.push_back(static_cast<int>(i));
    return std::move(stage_);
  }

 private:
  size_t root(int cell) const { return static_cast<size_t>(path_.cells[static_cast<size_t>(cell)].root); }

  std::vector<int> ready_outputs() const {
    const Frame& f = path_.frames[0];
    std::vector<int> out;
    for (const int id : f.graph->outputs) out.push_back(f.cell_of[static_cast<size_t>(id)]);
    return out;
  }

  // Root cells that pending nodes, wants or host calls read once this stage has run.
  std::vector<char> read_later() const {
    std::vector<char> later(path_.cells.size(), 0);
    for (const auto& item : path_.pending) {
      const Frame& f = path_.frames[static_cast<size_t>(item.frame)];
      const Frame& source = item.inner >= 0 ? path_.frames[static_cast<size_t>(item.inner)] : f;
      const auto ids = item.inner >= 0 ? source.graph->outputs : reads(f.graph->nodes[static_cast<size_t>(item.node)]);
      for (const int id : ids)
        if (const int c = source.cell_of[static_cast<size_t>(id)]; c >= 0) later[root(c)] = 1;
    }
    for (const int c : stage_.wants) later[root(c)] = 1;
    for (const HostCall& h : stage_.host_calls)
      for (const int c : h.in) later[root(c)] = 1;
    return later;
  }

  void drop_dead(const std::vector<char>& needed) {
    std::vector<char> used = needed;
    std::vector<Step> kept;
    for (size_t i = stage_.steps.size(); i-- > 0;) {
      Step& s = stage_.steps[i];
      if (std::none_of(s.out.begin(), s.out.end(), [&](int c) { return used[root(c)]; })) continue;
      for (const int c : s.in) used[root(c)] = 1;
      kept.push_back(std::move(s));
    }
    std::reverse(kept.begin(), kept.end());
    stage_.steps = std::move(kept);
  }

  bool advance(const PathState::Item& item) {
    if (item.inner >= 0) return link(item);
    const Node& node = path_.frames[static_cast<size_t>(item.frame)].graph->nodes[static_cast<size_t>(item.node)];
    try {
      return advance_node(item, node);
    } catch (const Error& e) {
      const std::string prefix = fmt::format("node '{}': ", node.name);
      const std::string what = e.what();
      if (what.rfind("node '", 0) == 0) throw;
      throw Error(e.code(), prefix + what);
    }
  }

  bool link(const PathState::Item& item) {
    const Frame& inner = path_.frames[static_cast<size_t>(item.inner)];
    Frame& outer = path_.frames[static_cast<size_t>(item.frame)];
    const Node& node = outer.graph->nodes[static_cast<size_t>(item.node)];
    for (const int id : inner.graph->outputs)
      if (inner.cell_of[static_cast<size_t>(id)] < 0) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      outer.cell_of[static_cast<size_t>(node.outputs[i])] = inner.cell_of[static_cast<size_t>(inner.graph->outputs[i])];
    return true;
  }

  const Cell& cell(const Frame& f, int id) const {
    return path_.cells[static_cast<size_t>(f.cell_of[static_cast<size_t>(id)])];
  }

  // The known value of a graph tensor, or nothing: then it is wanted.
  const Tensor* value_of(const PathState::Item& item, TensorRef ref) {
    const Frame& f = path_.frames[static_cast<size_t>(item.frame)];
    const Cell& c = cell(f, ref.id);
    if (c.meta.known.defined()) return &c.meta.known;
    stage_.wants.push_back(f.cell_of[static_cast<size_t>(ref.id)]);
    return nullptr;
  }

  bool advance_node(const PathState::Item& item, const Node& node) {
    {
      const Frame& f = path_.frames[static_cast<size_t>(item.frame)];
      for (const int id : reads(node))
        if (f.cell_of[static_cast<size_t>(id)] < 0) return false;
    }
    if (node.op->has(kControl)) return advance_control(item, node);

    bool all_there = true;
    std::vector<Value> values = node.values;
    for (size_t i = 0; i < values.size(); ++i) {
      const Param& p = node.op->parsed.params[i];
      if (auto* ref = std::get_if<TensorRef>(&values[i]); ref && p.type == ParamType::scalar)
        values[i] = FromTensor{*ref};
      if (const auto* from = std::get_if<FromTensor>(&values[i])) {
        const Tensor* t = value_of(item, from->source);
        all_there = all_there && t;
        if (t) values[i] = value_from_tensor(*node.op, p, *t);
      } else if (std::holds_alternative<Sym>(values[i]) || std::holds_alternative<Syms>(values[i])) {
        const auto input_value = [&](int input) {
          return value_of(item, TensorRef{path_.frames[0].graph->inputs[static_cast<size_t>(input)]});
        };
        auto v = resolve_symbols(values[i], *path_.frames[0].graph, path_.symbols, input_value);
        all_there = all_there && v.has_value();
        if (v) values[i] = std::move(*v);
      }
    }
    if (!all_there) return false;

    std::vector<int> operands;
    const Frame& f = path_.frames[static_cast<size_t>(item.frame)];
    std::vector<int> sources;
    Args args = build_args(
        node.op->parsed, values, [&](TensorRef r) { return cell(f, r.id).meta; }, options_.packs, &sources);
    for (size_t i = 0; i < sources.size(); ++i)
      operands.push_back(sources[i] >= 0 ? f.cell_of[static_cast<size_t>(sources[i])]
                                         : add_constant(path_.cells, args.operands()[i].known, "number", true));

    const bool all_known =
        std::all_of(args.operands().begin(), args.operands().end(), [](const Meta& m) { return m.known.defined(); });
    if (node.op->has(kDynamic) && !all_known) {
      HostCall h{item.frame, item.node, cell_values(node, values, f), operands};
      stage_.host_calls.push_back(std::move(h));
      return true;
    }
    const Metas outputs = node.op->infer(args);
    NBX_ASSERT(outputs.size() == node.outputs.size());
    for (const Meta& m : outputs)
      require(m.rank() <= kMaxRank, Code::shape, "{}: a result of {} dims; at most {} are supported",
              node.op->parsed.full_name(), m.rank(), kMaxRank);
    if (node.op->has(kShapeOnly) || (all_known && !node.op->has(kRandom) && may_fold(outputs))) {
      fold(item, node, args, outputs);
      return true;
    }
    Step step;
    step.op = node.op;
    step.in = operands;
    step.name = node.name;
    bool launches = outputs.empty();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int id = node.outputs[i];
      const int same = outputs.size() == 1 ? passed_through(outputs[i], operands) : -1;
      const int c = same >= 0
                        ? same
                        : add_cell(path_.cells, outputs[i], operands, f.graph->tensors[static_cast<size_t>(id)].name);
      path_.frames[static_cast<size_t>(item.frame)].cell_of[static_cast<size_t>(id)] = c;
      step.out.push_back(c);
      launches = launches || outputs[i].alias < 0;
    }
    step.args = std::move(args);
    if (launches) stage_.steps.push_back(std::move(step));
    return true;
  }

  // The operand that a result is, unchanged in every respect (Identity, a Reshape to the same shape); -1: none. The
  // passes then see producer and reader side by side.
  int passed_through(const Meta& m, const std::vector<int>& operands) const {
    if (m.alias < 0 || m.offset != 0) return -1;
    const int c = operands[static_cast<size_t>(m.alias)];
    const Meta& was = path_.cells[static_cast<size_t>(c)].meta;
    const bool same = !was.weak && !m.weak && was.dtype == m.dtype && was.shape == m.shape && was.strides == m.strides;
    return same ? c : -1;
  }

  static std::vector<Value> cell_values(const Node& node, std::vector<Value> values, const Frame& f) {
    Node copy;
    copy.op = node.op;
    copy.values = std::move(values);
    remap(copy, f.cell_of);
    return std::move(copy.values);
  }

  bool may_fold(const Metas& outputs) const {
    int64_t bytes = 0;
    for (const Meta& m : outputs)
      if (m.alias < 0) bytes += m.bytes();
    return bytes <= options_.fold_bytes;
  }

  void fold(const PathState::Item& item, const Node& node, Args& args, const Metas& outputs) {
    std::vector<Tensor> results;
    if (node.op->has(kShapeOnly)) {
      for (const Meta& m : outputs) results.push_back(Tensor::empty(m.shape, m.dtype));
      std::vector<const void*> in(args.operands().size(), nullptr);  // such a kernel reads no operand
      std::vector<void*> out;
      for (const Tensor& t : results) out.push_back(t.raw_mutable());
      static thread_local Team alone(1);
      const Kernel& kernel = choose_kernel(*node.op, args, DeviceKind::cpu);
      kernel.bind(args, outputs)(Run{in.data(), out.data(), nullptr, alone});
    } else {
      Call call;
      call.op = node.op;
      call.values = args.values();
      for (const Meta& m : args.operands()) call.tensors.push_back(m.known);
      bool weak = false;
      for (const Meta& m : args.operands()) weak = weak || m.weak;
      if (weak) {  // numbers keep their weak place in promotion
        for (Value& v : call.values)
          if (const auto* r = std::get_if<TensorRef>(&v); r && r->defined()) {
            const Meta& m = args.operands()[static_cast<size_t>(r->id)];
            if (m.weak) v = number_of(m.known);
          }
      }
      results = run_call(call);
    }
    Frame& f = path_.frames[static_cast<size_t>(item.frame)];
    for (size_t i = 0; i < results.size(); ++i) {
      const int id = node.outputs[i];
      f.cell_of[static_cast<size_t>(id)] =
          add_constant(path_.cells, results[i], f.graph->tensors[static_cast<size_t>(id)].name);
    }
  }

  bool advance_control(const PathState::Item& item, const Node& node) {
    const Frame& f = path_.frames[static_cast<size_t>(item.frame)];
    if (node.op->parsed.name != "if") {
      HostCall h{item.frame, item.node, cell_values(node, node.values, f), {}};
      for (const int id : reads(node)) h.in.push_back(f.cell_of[static_cast<size_t>(id)]);
      stage_.host_calls.push_back(std::move(h));
      return true;
    }
    const Tensor* cond = value_of(item, std::get<TensorRef>(node.values[0]));
    if (!cond) return false;
    require(cond->numel() == 1, Code::shape, "if: the condition has shape {}, it must have one element",
            to_string(cond->shape()));
    const Graph& body = *node.bodies[cond->item() != 0 ? 0 : 1];
    const auto& captures = std::get<TensorRefs>(node.values[1]);
    std::vector<int> given;
    for (const TensorRef r : captures) given.push_back(f.cell_of[static_cast<size_t>(r.id)]);
    const int inner = open_frame(path_, body);  // invalidates f
    Frame& in = path_.frames[static_cast<size_t>(inner)];
    NBX_ASSERT(body.inputs.size() == given.size() && body.outputs.size() == node.outputs.size());
    for (size_t i = 0; i < given.size(); ++i) in.cell_of[static_cast<size_t>(body.inputs[i])] = given[i];
    queue_.push_front({item.frame, item.node, inner});
    for (size_t n = body.nodes.size(); n-- > 0;) queue_.push_front({inner, static_cast<int>(n), -1});
    return true;
  }

  PathState& path_;
  const LowerOptions& options_;
  Stage stage_;
  std::deque<PathState::Item> queue_;
};

}  // namespace

PathState begin_path(const Graph& graph, const Metas& inputs) {
  PathState path;
  NBX_ASSERT(inputs.size() == graph.inputs.size());
  open_frame(path, graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Cell c;
    c.meta = inputs[i];
    c.place = Cell::Place::external;
    c.slot = path.slots++;
    c.root = static_cast<int>(path.cells.size());
    c.name = graph.tensors[static_cast<size_t>(graph.inputs[i])].name;
    path.frames[0].cell_of[static_cast<size_t>(graph.inputs[i])] = c.root;
    path.cells.push_back(std::move(c));
  }
  path.slots += static_cast<int>(graph.outputs.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) path.pending.push_back({0, static_cast<int>(n), -1});
  bind_dimension_symbols(graph, inputs, path.symbols);
  return path;
}

Stage lower_stage(PathState& path, const LowerOptions& options) { return Lowering(path, options).run(); }

void resume_path(PathState& path, const Stage& stage, const std::vector<Tensor>& values,
                 const std::vector<Metas>& host_results) {
  for (size_t i = 0; i < stage.wants.size(); ++i)
    path.cells[static_cast<size_t>(stage.wants[i])].meta.known = values[i];
  for (size_t h = 0; h < stage.host_calls.size(); ++h) {
    const HostCall& call = stage.host_calls[h];
    const Node& node = path.frames[static_cast<size_t>(call.frame)].graph->nodes[static_cast<size_t>(call.node)];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Cell c;
      c.meta = host_results[h][i];
      c.place = Cell::Place::external;
      c.slot = path.slots++;
      c.root = static_cast<int>(path.cells.size());
      Frame& f = path.frames[static_cast<size_t>(call.frame)];
      c.name = f.graph->tensors[static_cast<size_t>(node.outputs[i])].name;
      f.cell_of[static_cast<size_t>(node.outputs[i])] = c.root;
      path.cells.push_back(std::move(c));
    }
  }
}

}  // namespace nbx
