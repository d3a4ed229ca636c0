// SPDX-License-Identifier: Apache-2.0
// Compiles a Builder's program for concrete shapes, and runs it. The output is walked in row-major order in tiles of T
// elements; a tile's operands are read where they lie when they are dense and of the lane's own type, else gathered and
// widened into a tile; the last step writes to the output when it can.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "ops/elementwise/engine/gather.h"
#include "ops/elementwise/engine/program.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx::pointwise {

namespace {

constexpr int64_t kScratch = 40 * 1024;    // a worker's tiles, on its stack
constexpr int64_t kTileBytes = 24 * 1024;  // what they may fill of a 32 KiB first-level cache
constexpr int64_t kLongestTile = 1024;
constexpr int64_t kStagingBytes = 4;  // widest dtype that is no lane's own

Fn load_fn(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return fn(Memory::load_float16);
    case DType::bfloat16:
      return fn(Memory::load_bfloat16);
    case DType::float8_e4m3fn:
      return fn(Memory::load_e4m3);
    case DType::float8_e5m2:
      return fn(Memory::load_e5m2);
    case DType::int8:
      return fn(Memory::load_int8);
    case DType::uint8:
      return fn(Memory::load_uint8);
    case DType::int16:
      return fn(Memory::load_int16);
    case DType::uint16:
      return fn(Memory::load_uint16);
    case DType::uint32:
      return fn(Memory::load_uint32);
    default:
      return {};
  }
}
Fn store_fn(DType dtype) {
  const Fn load = load_fn(dtype);
  constexpr int shift = static_cast<int>(Memory::store_float16) - static_cast<int>(Memory::load_float16);
  return load.defined() ? fn(static_cast<Memory>(load.index + shift)) : load;
}

struct Access {
  enum Kind : uint8_t { linear, splat, gather } kind = linear;
  int operand = 0;
  int64_t offset = 0;  // elements
  int64_t itemsize = 4;
  Fn load;          // undefined: the lane's own dtype
  Strides strides;  // over Plan::shape
};
struct Fill {  // a tile of one number
  int reg = 0;
  int lane_bytes = 4;
  int access = -1;  // a one-element operand; else the constant below
  double real = 0;
  int64_t whole = 0;
  Lane lane = Lane::f32;
};
struct Action {
  enum Kind : uint8_t { load, fill, step } kind = step;
  bool last = false;  // may write to its output directly
  bool copy = false;  // load: into a tile even when it could be read in place
  int16_t out = 0;
  int16_t in[3] = {0, 0, 0};
  uint8_t count = 0;
  int access = 0;  // load: into accesses; fill: into fills
  Fn fn;
  Params params;
};
struct Store {
  int result = 0;
  int reg = 0;
  int64_t itemsize = 4;
  Fn store;
  bool direct = false;  // the last step's result, in its own dtype
};

struct Plan {
  Shape shape;  // coalesced
  int64_t numel = 0;
  int64_t tile = kLongestTile;
  int64_t chunk = kLongestTile;
  bool gathers = false;
  unsigned groups = 0;  // which tables are used
  std::vector<Access> accesses;
  std::vector<Fill> fills;
  size_t pinned = 0;  // fills before this one hold for a whole chunk
  std::vector<Action> actions;
  std::vector<Store> stores;
  std::vector<int64_t> at;  // byte offset of each register
  int64_t staging = 0;      // byte offset
};

int weight(const Node& n) {
  switch (n.fn.group) {
    case Group::math32:
      return 8;
    case Group::math64:
      return 30;
    case Group::i32:
    case Group::i64:
    case Group::u64:
      return 2;
    default:
      return 1;
  }
}

// Follows the steps that change a dtype only.
Val source(const Builder& b, Val v) {
  while (b.node(v).kind == Node::step && !b.node(v).fn.defined()) v = b.node(v).in[0];
  return v;
}

std::vector<bool> needed(const Builder& b) {
  std::vector<bool> use(b.nodes().size(), false);
  for (const Val v : b.outputs()) use[static_cast<size_t>(source(b, v))] = true;
  for (size_t i = b.nodes().size(); i-- > 0;) {
    if (!use[i]) continue;
    const Node& n = b.nodes()[i];
    for (int k = 0; k < n.count; ++k) use[static_cast<size_t>(source(b, n.in[k]))] = true;
  }
  return use;
}

// Where each value is used last: an index past the steps for outputs.
std::vector<size_t> last_uses(const Builder& b, const std::vector<bool>& use) {
  std::vector<size_t> last(b.nodes().size(), 0);
  for (size_t i = 0; i < b.nodes().size(); ++i) {
    if (!use[i]) continue;
    for (int k = 0; k < b.nodes()[i].count; ++k) last[static_cast<size_t>(source(b, b.nodes()[i].in[k]))] = i;
  }
  for (const Val v : b.outputs()) last[static_cast<size_t>(source(b, v))] = b.nodes().size();
  return last;
}

void gather(void* to, const std::byte* from, const Plan& p, const Access& a, const int64_t* start, int64_t n) {
  switch (a.itemsize) {
    case 1:
      return gather_as(static_cast<uint8_t*>(to), reinterpret_cast<const uint8_t*>(from), p.shape, a.strides, start, n);
    case 2:
      return gather_as(static_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), p.shape, a.strides, start,
                       n);
    case 4:
      return gather_as(static_cast<uint32_t*>(to), reinterpret_cast<const uint32_t*>(from), p.shape, a.strides, start,
                       n);
    default:
      return gather_as(static_cast<uint64_t*>(to), reinterpret_cast<const uint64_t*>(from), p.shape, a.strides, start,
                       n);
  }
}

class Worker {
 public:
  Worker(const Plan& plan, const Run& run, const Tables& fns, std::byte* scratch)
      : p_(plan), run_(run), fns_(fns), scratch_(scratch) {}

  void chunk(int64_t begin, int64_t end) {
    const int64_t widest = std::min(p_.tile, align_up(end - begin, kPad));
    for (size_t i = 0; i < p_.pinned; ++i) fill(p_.fills[i], widest);
    for (int64_t i = begin; i < end; i += p_.tile) tile(i, std::min(p_.tile, end - i));
  }

 private:
  std::byte* reg(int r) { return scratch_ + p_.at[static_cast<size_t>(r)]; }
  const std::byte* operand(const Access& a) const { return run_.in<std::byte>(a.operand) + a.offset * a.itemsize; }

  void fill(const Fill& f, int64_t n) {
    std::byte* to = reg(f.reg);
    pointers_[f.reg] = to;
    if (f.access >= 0) {
      const Access& a = p_.accesses[static_cast<size_t>(f.access)];
      if (!a.load.defined()) return spread(to, operand(a), f.lane_bytes, n);
      // A function works on whole vectors, so the element is repeated before it is widened.
      alignas(64) std::byte wide[kPad * 8];
      std::byte* narrow = scratch_ + p_.staging;
      for (int64_t i = 0; i < kPad; ++i)
        std::memcpy(narrow + i * a.itemsize, operand(a), static_cast<size_t>(a.itemsize));
      fns_[a.load](Block{wide, {narrow, nullptr, nullptr}, kPad, nullptr});
      return spread(to, wide, f.lane_bytes, n);
    }
    switch (f.lane) {
      case Lane::f32:
        std::fill_n(reinterpret_cast<float*>(to), n, static_cast<float>(f.real));
        break;
      case Lane::f64:
        std::fill_n(reinterpret_cast<double*>(to), n, f.real);
        break;
      case Lane::i32:
        std::fill_n(reinterpret_cast<int32_t*>(to), n, static_cast<int32_t>(f.whole));
        break;
      case Lane::i64:
      case Lane::u64:
        std::fill_n(reinterpret_cast<int64_t*>(to), n, f.whole);
        break;
      case Lane::b8:
        std::memset(to, f.whole != 0, static_cast<size_t>(n));
        break;
    }
  }

  static void spread(std::byte* to, const std::byte* element, int bytes, int64_t n) {
    if (bytes == 4) {
      uint32_t v;
      std::memcpy(&v, element, 4);
      std::fill_n(reinterpret_cast<uint32_t*>(to), n, v);
    } else if (bytes == 8) {
      uint64_t v;
      std::memcpy(&v, element, 8);
      std::fill_n(reinterpret_cast<uint64_t*>(to), n, v);
    } else {
      std::memset(to, static_cast<int>(*element), static_cast<size_t>(n));
    }
  }

  void load(const Action& action, int64_t begin, int64_t n, bool full, const int64_t* coords) {
    const Access& a = p_.accesses[static_cast<size_t>(action.access)];
    const std::byte* from = operand(a);
    if (a.kind == Access::linear) {
      from += begin * a.itemsize;
    } else {
      // Within one row of a dense inner dim the elements lie side by side.
      const size_t inner = p_.shape.size() - 1;
      if (a.strides[inner] == 1 && coords[inner] + n <= p_.shape[inner]) {
        for (size_t d = 0; d <= inner; ++d) from += coords[d] * a.strides[d] * a.itemsize;
      } else {
        std::byte* to = a.load.defined() ? scratch_ + p_.staging : reg(action.out);
        gather(to, from, p_, a, coords, n);
        if (a.load.defined()) fns_[a.load](Block{reg(action.out), {to, nullptr, nullptr}, n, nullptr});
        pointers_[action.out] = reg(action.out);
        return;
      }
    }
    if (!full || action.copy) {
      // Functions read whole vectors; the operand may end before.
      std::byte* to = a.load.defined() ? scratch_ + p_.staging : reg(action.out);
      std::memcpy(to, from, static_cast<size_t>(n * a.itemsize));
      from = to;
    }
    if (a.load.defined()) {
      fns_[a.load](Block{reg(action.out), {from, nullptr, nullptr}, n, nullptr});
      from = reg(action.out);
    }
    pointers_[action.out] = from;
  }

  void tile(int64_t begin, int64_t n) {
    const bool full = n % kPad == 0;
    int64_t coords[kMaxRank];
    if (p_.gathers) {
      int64_t rest = begin;
      for (size_t d = p_.shape.size(); d-- > 0;) {
        coords[d] = rest % p_.shape[d];
        rest /= p_.shape[d];
      }
    }
    for (const Action& action : p_.actions) {
      if (action.kind == Action::load) {
        load(action, begin, n, full, coords);
        continue;
      }
      if (action.kind == Action::fill) {
        fill(p_.fills[static_cast<size_t>(action.access)], align_up(n, kPad));
        continue;
      }
      std::byte* out = reg(action.out);
      if (action.last && full) {
        const Store& s = p_.stores.front();
        out = run_.out<std::byte>(s.result) + begin * s.itemsize;
      }
      fns_[action.fn](
          Block{out, {pointers_[action.in[0]], pointers_[action.in[1]], pointers_[action.in[2]]}, n, &action.params});
      pointers_[action.out] = out;
    }
    for (const Store& s : p_.stores) {
      if (s.direct && full) continue;
      std::byte* to = run_.out<std::byte>(s.result) + begin * s.itemsize;
      const std::byte* from = static_cast<const std::byte*>(pointers_[s.reg]);
      if (s.store.defined()) {
        std::byte* narrow = full ? to : scratch_ + p_.staging;
        fns_[s.store](Block{narrow, {from, nullptr, nullptr}, n, nullptr});
        if (full) continue;
        from = narrow;
      }
      std::memmove(to, from, static_cast<size_t>(n * s.itemsize));
    }
  }

  const Plan& p_;
  const Run& run_;
  const Tables& fns_;
  std::byte* scratch_;
  const void* pointers_[kMaxLive + 1] = {};
};

void run_plan(const Plan& p, const Run& run) {
  Tables fns;
  using Getter = const BlockFn* (*)();
  static constexpr Getter getters[] = {real32_table, real64_table, math32_table, math64_table, i32_table,
                                       i64_table,    u64_table,    b8_table,     cast_table,   memory_table};
  for (int g = 0; g < static_cast<int>(Group::count); ++g)
    if (p.groups & (1u << g)) fns.group[g] = getters[g]();
  const int64_t chunks = ceil_div(p.numel, p.chunk);
  const auto work = [&](int64_t chunk, int) {
    alignas(64) std::byte scratch[kScratch];
    Worker worker(p, run, fns, scratch);
    worker.chunk(chunk * p.chunk, std::min(p.numel, (chunk + 1) * p.chunk));
  };
  if (chunks == 1)
    work(0, 0);
  else
    run.team.run(chunks, work);
}

void use(Plan& p, Fn f) {
  if (f.defined()) p.groups |= 1u << static_cast<int>(f.group);
}

Access make_access(const Input& in, const Strides& strides, const Shape& shape, bool& gathers) {
  Access a;
  a.operand = in.operand;
  a.offset = in.offset;
  a.itemsize = itemsize(in.dtype);
  a.load = load_fn(in.dtype);
  a.strides = strides;
  if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; })) {
    a.kind = Access::splat;
  } else if (is_contiguous(shape, strides)) {
    a.kind = Access::linear;
  } else {
    a.kind = Access::gather;
    gathers = true;
  }
  return a;
}

}  // namespace

Bound compile(const Builder& b, const Shape& shape) {
  auto plan = std::make_shared<Plan>();
  Plan& p = *plan;
  p.numel = nbx::numel(shape);
  if (p.numel == 0) return [](const Run&) {};

  const std::vector<bool> use_of = needed(b);
  std::vector<Strides> strides = {contiguous_strides(shape)};
  strides.resize(b.inputs().size() + 1, Strides(shape.size(), 0));  // what is not read need not broadcast
  for (size_t i = 0; i < use_of.size(); ++i) {
    if (!use_of[i] || b.nodes()[i].kind != Node::input) continue;
    const size_t k = static_cast<size_t>(b.nodes()[i].index);
    strides[k + 1] = broadcast_strides(b.inputs()[k].shape, b.inputs()[k].strides, shape, "elementwise");
  }
  const Loops loops = coalesce(shape, strides, false);
  p.shape = loops.shape;

  const std::vector<size_t> last = last_uses(b, use_of);
  const size_t end = b.nodes().size();

  // Registers: a free one of the same width, else a new one.
  std::vector<int> reg(end, -1);
  std::vector<int> widths;
  std::vector<std::vector<int>> free_of(9);
  const auto take = [&](Lane lane) {
    auto& list = free_of[static_cast<size_t>(lane_bytes(lane))];
    if (!list.empty()) {
      const int r = list.back();
      list.pop_back();
      return r;
    }
    widths.push_back(lane_bytes(lane));
    return static_cast<int>(widths.size()) - 1;
  };
  std::vector<int> access_of(b.inputs().size(), -1);
  int work = 0;
  const auto is_number = [&](Val v) {
    const Node& n = b.node(v);
    if (n.kind == Node::constant) return true;
    if (n.kind != Node::input) return false;
    const Strides& s = loops.strides[static_cast<size_t>(n.index) + 1];
    return std::all_of(s.begin(), s.end(), [](int64_t x) { return x == 0; });
  };
  const auto access = [&](int input) {
    const size_t index = static_cast<size_t>(input);
    if (access_of[index] < 0) {
      access_of[index] = static_cast<int>(p.accesses.size());
      p.accesses.push_back(make_access(b.inputs()[index], loops.strides[index + 1], p.shape, p.gathers));
      use(p, p.accesses.back().load);
    }
    return access_of[index];
  };
  const auto add_fill = [&](Val v) {
    const Node& n = b.node(v);
    reg[static_cast<size_t>(v)] = take(n.lane);
    p.fills.push_back({reg[static_cast<size_t>(v)], lane_bytes(n.lane), n.kind == Node::input ? access(n.index) : -1,
                       n.real, n.whole, n.lane});
  };
  // Filled once, so their registers are never reused: they come before the steps take any.
  std::vector<char> pinned(end, 0);
  for (size_t i = 0; i < end && p.pinned < static_cast<size_t>(kPinned); ++i) {
    if (!use_of[i] || !is_number(static_cast<Val>(i))) continue;
    add_fill(static_cast<Val>(i));
    pinned[i] = 1;
    ++p.pinned;
  }
  const auto load = [&](Val v) {
    const Node& n = b.node(v);
    const size_t at = static_cast<size_t>(v);
    if (n.kind == Node::step || reg[at] >= 0) return;
    Action action;
    if (is_number(v)) {
      add_fill(v);
      action.kind = Action::fill;
      action.access = static_cast<int>(p.fills.size()) - 1;
      work += 1;
    } else {
      reg[at] = take(n.lane);
      action.kind = Action::load;
      action.access = access(n.index);
      // Another output may lie on this operand, and is written first.
      action.copy = last[at] == end && b.outputs().size() > 1;
      work += p.accesses[static_cast<size_t>(action.access)].kind == Access::gather ? 3 : 1;
    }
    action.out = static_cast<int16_t>(reg[at]);
    p.actions.push_back(action);
  };
  const auto release = [&](Val v, size_t now) {
    if (last[static_cast<size_t>(v)] != now || pinned[static_cast<size_t>(v)]) return;
    const int r = reg[static_cast<size_t>(v)];
    auto& list = free_of[static_cast<size_t>(widths[static_cast<size_t>(r)])];
    if (std::find(list.begin(), list.end(), r) == list.end()) list.push_back(r);
  };
  for (size_t i = 0; i < end; ++i) {
    const Node& n = b.nodes()[i];
    if (!use_of[i] || n.kind != Node::step || !n.fn.defined()) continue;
    Action action;
    action.fn = n.fn;
    action.count = static_cast<uint8_t>(n.count);
    action.params = n.params;
    for (int k = 0; k < n.count; ++k) load(source(b, n.in[k]));
    for (int k = 0; k < n.count; ++k) action.in[k] = static_cast<int16_t>(reg[static_cast<size_t>(source(b, n.in[k]))]);
    for (int k = n.count; k < 3; ++k) action.in[k] = action.in[0];
    // The result gets a register before the inputs give theirs back: functions of mixed widths may not overlap.
    reg[i] = take(n.lane);
    action.out = static_cast<int16_t>(reg[i]);
    for (int k = 0; k < n.count; ++k) release(source(b, n.in[k]), i);
    p.actions.push_back(action);
    use(p, n.fn);
    work += weight(n);
  }

  for (size_t k = 0; k < b.outputs().size(); ++k) {
    const Val wanted = b.outputs()[k];
    const Val v = source(b, wanted);
    load(v);
    Store s;
    s.result = static_cast<int>(k);
    s.reg = reg[static_cast<size_t>(v)];
    s.itemsize = itemsize(b.dtype(wanted));
    s.store = store_fn(b.dtype(wanted));
    use(p, s.store);
    p.stores.push_back(s);
    work += 1;
  }
  // Writing early is safe for the very last step only: an output may lie on an input that other steps still read.
  if (!p.actions.empty() && p.actions.back().kind == Action::step) {
    for (size_t k = 0; k < p.stores.size(); ++k) {
      if (p.stores[k].reg != p.actions.back().out || p.stores[k].store.defined()) continue;
      p.stores[k].direct = true;
      p.actions.back().last = true;
      std::swap(p.stores[0], p.stores[k]);
      break;
    }
  }

  require(widths.size() <= static_cast<size_t>(kMaxLive), Code::unsupported,
          "custom::pointwise: {} values are alive at once, {} fit; split the chain", widths.size(), kMaxLive);
  int64_t element = kStagingBytes;
  for (const int w : widths) element += w;
  p.tile = std::clamp(kTileBytes / element / kPad * kPad, kPad, kLongestTile);
  int64_t at = 0;
  for (const int w : widths) {
    p.at.push_back(at);
    at += w * p.tile;
  }
  p.staging = at;
  NBX_ASSERT(at + kStagingBytes * p.tile <= kScratch);
  // About 20 microseconds of work, whatever the number of threads.
  p.chunk = align_up(std::max<int64_t>(1, 131072 / std::max(1, work)), 64);
  p.chunk = std::max(p.tile, p.chunk / p.tile * p.tile);
  return [plan](const Run& run) { run_plan(*plan, run); };
}

}  // namespace nbx::pointwise
