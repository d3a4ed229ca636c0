// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: pairs of a head's elements turned by the angle of their row's position.
#include <algorithm>

#include "ops/declare.h"
#include "ops/reduce/blocks.h"

namespace nbx {
namespace {

struct Rotary {
  bool flat = false;  // (batch, rows, heads * depth), else (batch, heads, rows, depth)
  int64_t batch = 0, heads = 0, rows = 0, depth = 0, half = 0;
  bool interleaved = false;
  int64_t positions = 0;  // rows of the caches when `ids` chooses among them
  int x = 0, cos = 0, sin = 0, ids = -1;

  // Which row of the caches turns row r of (batch, heads, rows) or (batch, rows, heads); error (index) beyond them.
  int64_t angle(int64_t r, const int64_t* id) const {
    const int64_t at = flat ? r / heads : r / (heads * rows) * rows + r % rows;
    if (!id) return at;
    require(id[at] >= 0 && id[at] < positions, Code::index,
            "rotary_embedding: position_ids has {}; the caches hold positions 0 to {}", id[at], positions - 1);
    return id[at];
  }
  int64_t first(int64_t j) const { return interleaved ? 2 * j : j; }
  int64_t second(int64_t j) const { return interleaved ? 2 * j + 1 : j + half; }
};

Rotary rotary(const Args& a) {
  const std::string op = a.op();
  const Meta &x = a.tensor("x"), &cos = a.tensor("cos_cache"), &sin = a.tensor("sin_cache");
  require(is_floating(x.dtype) && cos.dtype == x.dtype && sin.dtype == x.dtype, Code::dtype,
          "{}: x is {}, cos_cache is {}, sin_cache is {}; pass one floating dtype", op, to_string(x), to_string(cos),
          to_string(sin));
  require(x.rank() == 3 || x.rank() == 4, Code::shape, "{}: x is {}; pass rank 3 with num_heads, or rank 4", op,
          to_string(x));
  Rotary r;
  r.flat = x.rank() == 3;
  r.heads = r.flat ? a.integer("num_heads") : x.dim(1);
  require(!r.flat || (r.heads > 0 && x.dim(2) % r.heads == 0), Code::shape,
          "{}: num_heads is {}, the last dim of x {} must be a multiple of it", op, r.heads, to_string(x));
  r.batch = x.dim(0);
  r.rows = r.flat ? x.dim(1) : x.dim(2);
  r.depth = r.flat ? x.dim(2) / r.heads : x.dim(3);
  const int64_t turned = a.integer("rotary_embedding_dim") == 0 ? r.depth : a.integer("rotary_embedding_dim");
  require(turned > 0 ? turned <= r.depth && turned % 2 == 0 : turned == r.depth, Code::value,
          "{}: rotary_embedding_dim is {}, the head size of x {} is {}; pass an even number up to it", op, turned,
          to_string(x), r.depth);
  r.half = turned / 2;
  r.interleaved = a.flag("interleaved");
  r.x = a.operand("x");
  r.cos = a.operand("cos_cache");
  r.sin = a.operand("sin_cache");
  r.ids = a.operand("position_ids");
  if (const Meta* ids = a.optional_tensor("position_ids")) {
    require(ids->dtype == DType::int64 && ids->shape == Shape({r.batch, r.rows}), Code::shape,
            "{}: position_ids is {}; pass int64[{}, {}], as x is {}", op, to_string(*ids), r.batch, r.rows,
            to_string(x));
    require(cos.rank() == 2, Code::shape, "{}: cos_cache is {}; with position_ids it has rank 2", op, to_string(cos));
    r.positions = cos.dim(0);
  }
  const Shape wanted = r.ids >= 0 ? Shape{r.positions, r.half} : Shape{r.batch, r.rows, r.half};
  require(cos.shape == wanted && sin.shape == wanted, Code::shape,
          "{}: cos_cache is {} and sin_cache is {}; pass {} (x is {})", op, to_string(cos), to_string(sin),
          to_string(wanted), to_string(x));
  return r;
}

Metas infer(const Args& a) {
  rotary(a);
  return {a.tensor("x").like()};
}
Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 3 * a.tensor("x").numel();
  return c;
}

template <class A>
struct Job {
  Rotary r;
  Source<A> source;
  Sink<A> sink;

  void operator()(const Run& run) const {
    const int64_t rows = r.batch * r.heads * r.rows;
    if (rows * r.depth == 0) return;
    const int64_t grain = std::max<int64_t>(1, 16384 / r.depth);
    const auto bytes = static_cast<size_t>(2 * r.depth + 2 * r.half) * sizeof(A);
    run.team.run_with_scratch((rows + grain - 1) / grain, bytes, [&](int64_t chunk, int, void* memory) {
      A* in = static_cast<A*>(memory);
      A *out = in + r.depth, *room_cos = out + r.depth, *room_sin = room_cos + r.half;
      for (int64_t i = chunk * grain; i < std::min(rows, (chunk + 1) * grain); ++i) {
        const int64_t at = r.angle(i, run.in<int64_t>(r.ids)) * r.half;
        const A* x = source.read(run.inputs[r.x], i * r.depth, 1, r.depth, in);
        const A* cos = source.read(run.inputs[r.cos], at, 1, r.half, room_cos);
        const A* sin = source.read(run.inputs[r.sin], at, 1, r.half, room_sin);
        for (int64_t j = 0; j < r.half; ++j) {
          const A a = x[r.first(j)], b = x[r.second(j)];
          out[r.first(j)] = cos[j] * a - sin[j] * b;
          out[r.second(j)] = sin[j] * a + cos[j] * b;
        }
        std::copy(x + 2 * r.half, x + r.depth, out + 2 * r.half);
        sink.write(out, r.depth, run.outputs[0], i * r.depth);
      }
    });
  }
};

Bound bind(const Args& a, const Metas& outputs) {
  const DType dtype = outputs[0].dtype;
  return in_float_arithmetic(arithmetic_of(dtype, "rotary_embedding"), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{rotary(a), Source<A>(dtype), Sink<A>(dtype)};
  });
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Rotary r = rotary(a);
  const auto values = [&](int i) { return operands[static_cast<size_t>(i)].to_doubles(); };
  const auto x = values(r.x), cos = values(r.cos), sin = values(r.sin);
  std::vector<double> y = x;
  for (int64_t b = 0; b < r.batch; ++b) {
    for (int64_t h = 0; h < r.heads; ++h) {
      for (int64_t i = 0; i < r.rows; ++i) {
        const int64_t base = (r.flat ? (b * r.rows + i) * r.heads + h : (b * r.heads + h) * r.rows + i) * r.depth;
        const int64_t here = b * r.rows + i;
        const int64_t row =
            r.ids < 0 ? here : operands[static_cast<size_t>(r.ids)].to_ints()[static_cast<size_t>(here)];
        for (int64_t j = 0; j < r.half; ++j) {
          const auto first = static_cast<size_t>(base + (r.interleaved ? 2 * j : j));
          const auto second = first + static_cast<size_t>(r.interleaved ? 1 : r.half);
          const auto angle = static_cast<size_t>(row * r.half + j);
          y[first] = cos[angle] * x[first] - sin[angle] * x[second];
          y[second] = sin[angle] * x[first] + cos[angle] * x[second];
        }
      }
    }
  }
  return {Tensor::of<double>(operands[static_cast<size_t>(r.x)].shape(), std::span<const double>(y))};
}

void samples(SampleSink& s) {
  const Tensor ids = rand_ints({2, 5}, 0, 9);
  const Tensor x = randn({2, 3, 5, 8}, 1), flat = randn({2, 5, 24}, 2);
  for (const bool interleaved : {false, true}) {
    const SampleKeywords turns = {{"interleaved", val(interleaved)}};
    const SampleKeywords part = {{"interleaved", val(interleaved)}, {"rotary_embedding_dim", val(6)}};
    const SampleKeywords heads = {{"interleaved", val(interleaved)}, {"num_heads", val(3)}};
    s.add({x, randn({9, 4}, 3), randn({9, 4}, 4), ids}, turns);
    s.add({x, randn({9, 3}, 3), randn({9, 3}, 4), ids}, part);
    s.add({flat, randn({2, 5, 4}, 3), randn({2, 5, 4}, 4)}, heads);
    s.add({strided(x), strided(randn({2, 5, 4}, 3)), spaced(randn({2, 5, 4}, 4))}, turns);
    s.add({randn({2, 4, 300, 64}), randn({2, 300, 32}, 3), randn({2, 300, 32}, 4)}, turns);
  }
  s.add({randn({1, 1, 1, 2}), randn({1, 1, 1}, 3), randn({1, 1, 1}, 4)});
  s.add({randn({2, 3, 0, 8}), randn({2, 0, 4}), randn({2, 0, 4})});
  s.error(Code::shape, {"num_heads", "[2, 5, 24]"}, {flat, randn({2, 5, 4}), randn({2, 5, 4})});
  s.error(Code::shape, {"cos_cache", "[9, 3]"}, {x, randn({9, 3}), randn({9, 3}), ids});
  s.error(Code::value, {"rotary_embedding_dim", "10"}, {x, randn({9, 5}), randn({9, 5}), ids},
          {{"rotary_embedding_dim", val(10)}});
  s.error(Code::index, {"position_ids", "9"},
          {x, randn({9, 4}), randn({9, 4}), Tensor::of<int64_t>({2, 5}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 9})});
}

void import_rotary(Importing& in) {
  in.output(0, in.emit("custom::rotary_embedding",
                       {in.input(0), in.input(1), in.input(2), in.has_input(3) ? Value(in.input(3)) : Value(None{})},
                       {{"interleaved", in.integer("interleaved", 0) != 0},
                        {"rotary_embedding_dim", in.integer("rotary_embedding_dim", 0)},
                        {"num_heads", in.integer("num_heads", 0)}}));
}

}  // namespace

namespace decls {

Decls rotary() {
  OpDecl d;
  d.schema =
      "custom::rotary_embedding(Tensor x, Tensor cos_cache, Tensor sin_cache, Tensor? position_ids=None, *, bool "
      "interleaved=False, int rotary_embedding_dim=0, int num_heads=0) -> Tensor";
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("rotary_embedding_cpu", bind)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = norm_wise(3e-7, 1e-3, 8e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = {{"RotaryEmbedding", import_rotary, 23}};
  d.source = "ONNX RotaryEmbedding; Su et al. 2021";
  return {d};
}

}  // namespace decls
}  // namespace nbx
