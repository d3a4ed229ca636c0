// SPDX-License-Identifier: Apache-2.0
// Elementwise chains of any length become one step each: one pass over memory. A group grows along the order of the
// steps; its one call stands where its last member stood, so no step outside may read a member's result before that
// place.
#include <algorithm>

#include "ops/elementwise/fuse.h"
#include "ops/registry.h"
#include "plan/lowered.h"

namespace nbx {

namespace {

// Longer chains gain nothing: memory is passed once per this many steps at worst.
constexpr size_t kMaxSteps = 48;

class Grouping {
 public:
  Grouping(std::vector<Step>& steps, std::vector<Cell>& cells, const std::vector<char>& needed,
           const LowerOptions& options)
      : steps_(steps),
        cells_(cells),
        needed_(needed),
        options_(options),
        group_of_(steps.size(), -1),
        maker_(cells.size(), -1),
        readers_(cells.size()) {}

  void run() {
    for (size_t j = 0; j < steps_.size(); ++j) {
      const int here = static_cast<int>(j);
      if (can_start(steps_[j])) join(here);
      for (const int c : steps_[j].out) maker_[static_cast<size_t>(c)] = here;
      for (const int c : steps_[j].in) readers_[root(c)].push_back(here);
    }
    std::vector<Step> out;
    out.reserve(steps_.size());
    for (size_t j = 0; j < steps_.size(); ++j) {
      const int g = group_of_[j];
      if (g < 0 || groups_[static_cast<size_t>(g)].size() < 2) {
        out.push_back(std::move(steps_[j]));
        continue;
      }
      const auto& members = groups_[static_cast<size_t>(g)];
      if (members.back() != static_cast<int>(j)) continue;
      if (auto step = fused(members)) {
        out.push_back(std::move(*step));
      } else {  // stays as it was; the members have waited for this place
        for (const int m : members) out.push_back(std::move(steps_[static_cast<size_t>(m)]));
      }
    }
    steps_ = std::move(out);
  }

 private:
  size_t root(int c) const { return static_cast<size_t>(cells_[static_cast<size_t>(c)].root); }

  bool can_start(const Step& s) const {
    if (s.out.size() != 1 || cells_[static_cast<size_t>(s.out[0])].root != s.out[0]) return false;
    if (cells_[static_cast<size_t>(s.out[0])].meta.numel() == 0) return false;
    return can_join(*s.op, s.args);
  }
  const Shape& shape(int step) const {
    return cells_[static_cast<size_t>(steps_[static_cast<size_t>(step)].out[0])].meta.shape;
  }

  void join(int j) {
    std::vector<int> merged{j};
    std::vector<int> taken;
    for (const int c : steps_[static_cast<size_t>(j)].in) {
      const int p = maker_[root(c)];
      if (p < 0 || group_of_[static_cast<size_t>(p)] < 0) continue;
      const int g = group_of_[static_cast<size_t>(p)];
      if (std::count(taken.begin(), taken.end(), g) || shape(p) != shape(j)) continue;
      std::vector<int> wider = merged;
      const auto& other = groups_[static_cast<size_t>(g)];
      wider.insert(wider.end(), other.begin(), other.end());
      std::sort(wider.begin(), wider.end());
      if (wider.size() > kMaxSteps || !legal(wider, j)) continue;
      merged = std::move(wider);
      taken.push_back(g);
    }
    const int id = static_cast<int>(groups_.size());
    for (const int m : merged) group_of_[static_cast<size_t>(m)] = id;
    for (const int g : taken) groups_[static_cast<size_t>(g)].clear();
    groups_.push_back(std::move(merged));
  }

  // With j as the last member: everything that has read a member so far is a member itself, and members read each other
  // element by element, not through views.
  bool legal(const std::vector<int>& members, int j) const {
    const auto inside = [&](int step) { return std::binary_search(members.begin(), members.end(), step); };
    for (const int m : members) {
      const size_t r = root(steps_[static_cast<size_t>(m)].out[0]);
      for (const int reader : readers_[r])
        if (reader < j && !inside(reader)) return false;
      for (const int c : steps_[static_cast<size_t>(m)].in) {
        const int p = maker_[root(c)];
        if (p >= 0 && inside(p) && static_cast<size_t>(c) != root(c)) return false;
      }
    }
    return true;
  }

  std::optional<Step> fused(const std::vector<int>& members) {
    std::vector<ChainStep> chain;
    std::vector<int> results;
    const auto inside = [&](int step) { return std::binary_search(members.begin(), members.end(), step); };
    std::string name;
    for (const int m : members) {
      const Step& s = steps_[static_cast<size_t>(m)];
      chain.push_back({s.op, &s.args, s.in, s.out[0]});
      const size_t r = root(s.out[0]);
      bool outside = r < needed_.size() && needed_[r];
      for (const int reader : readers_[r]) outside = outside || !inside(reader);
      if (outside) results.push_back(s.out[0]);
      name += (name.empty() ? "" : "+") + s.op->parsed.name;
    }
    const auto call = fuse(chain, results);
    if (!call) return std::nullopt;
    Step step;
    step.op = &require_op("custom::pointwise");
    step.name = steps_[static_cast<size_t>(members.back())].name + ":" + name;
    step.in = call->inputs;
    step.out = results;
    TensorRefs refs;
    for (size_t i = 0; i < call->inputs.size(); ++i) refs.push_back(TensorRef{static_cast<int>(i)});
    step.args = build_args(
        step.op->parsed, {refs, call->program},
        [&](TensorRef r) { return cells_[static_cast<size_t>(call->inputs[static_cast<size_t>(r.id)])].meta; },
        options_.packs);
    const Metas made = step.op->infer(step.args);
    NBX_ASSERT(made.size() == results.size());
    for (size_t i = 0; i < made.size(); ++i) {
      const Meta& was = cells_[static_cast<size_t>(results[i])].meta;
      NBX_ASSERT(made[i].shape == was.shape && made[i].dtype == was.dtype);
    }
    return step;
  }

  std::vector<Step>& steps_;
  std::vector<Cell>& cells_;
  const std::vector<char>& needed_;
  const LowerOptions& options_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> group_of_;              // step → group, -1
  std::vector<int> maker_;                 // root cell → step
  std::vector<std::vector<int>> readers_;  // root cell → steps
};

}  // namespace

void fuse_pointwise(std::vector<Step>& steps, std::vector<Cell>& cells, const std::vector<char>& needed,
                    const LowerOptions& options) {
  Grouping(steps, cells, needed, options).run();
}

}  // namespace nbx
