// SPDX-License-Identifier: Apache-2.0
// Matrix products of 8-bit integers: the int32 sums themselves, or quantised again.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "ops/matmul/product.h"
#include "ops/quant/int_product.h"
#include "ops/quant/linear.h"

namespace nbx {

namespace {

bool is_quantised(const Args& a) { return a.schema().find("y_scale") >= 0; }

// A zero point or a scale as (..., m, 1) for A or (..., 1, n) for B.
struct Spread {
  int index = -1;
  Meta meta;  // of rank 2 or more
};

struct Problem {
  Product p;  // shapes only: both operands seen as int32
  bool a_vector = false, b_vector = false;
  bool a_signed = false, b_signed = false;
  Spread a_zero, b_zero, a_scale, b_scale;

  Shape shape() const {
    Shape s = p.shape();
    if (b_vector) s.pop_back();
    if (a_vector) s.erase(s.end() - (b_vector ? 1 : 2));
    return s;
  }
};

Spread spread_of(const Args& a, const char* param, const Meta& operand, const char* of, bool rows) {
  const Meta* m = a.schema().find(param) < 0 ? nullptr : a.optional_tensor(param);
  if (!m) return {};
  Spread s{a.operand(param), *m};
  s.meta.known = Tensor();
  if (m->numel() == 1)
    s.meta = Meta(m->dtype, Shape{1, 1});
  else if (m->rank() == 1)
    s.meta = Meta(m->dtype, rows ? Shape{m->dim(0), 1} : Shape{1, m->dim(0)});
  Shape wanted = operand.shape;
  wanted[wanted.size() - (rows ? 1 : 2)] = 1;
  bool fits = s.meta.rank() <= operand.rank();
  for (int64_t d = 1; fits && d <= s.meta.rank(); ++d)
    fits = s.meta.dim(-d) == 1 || s.meta.dim(-d) == wanted[wanted.size() - static_cast<size_t>(d)];
  require(fits, Code::shape, "{}: {} is {}, {} is {}; pass one value, or one for each {} ({})", a.op(), param,
          to_string(*m), of, to_string(operand), rows ? "row" : "column", to_string(wanted));
  return s;
}

Problem problem_of(const Args& args) {
  const Meta &a = args.tensor("a"), &b = args.tensor("b");
  require_byte(args.op(), "a", a);
  require_byte(args.op(), "b", b);
  for (const Meta* m : {&a, &b})
    require(m->rank() >= 1, Code::shape, "{}: an operand is {}, it must have a dim", args.op(), to_string(*m));
  Problem q;
  q.a_vector = a.rank() == 1;
  q.b_vector = b.rank() == 1;
  q.a_signed = a.dtype == DType::int8;
  q.b_signed = b.dtype == DType::int8;
  const Meta wide_a = q.a_vector ? Meta(DType::int32, Shape{1, a.dim(0)}) : Meta(DType::int32, a.shape);
  const Meta wide_b = q.b_vector ? Meta(DType::int32, Shape{b.dim(0), 1}) : Meta(DType::int32, b.shape);
  q.p = make_product(args.op(), wide_a, wide_b);
  q.a_zero = spread_of(args, "a_zero_point", wide_a, "a", true);
  q.b_zero = spread_of(args, "b_zero_point", wide_b, "b", false);
  q.a_scale = spread_of(args, "a_scale", wide_a, "a", true);
  q.b_scale = spread_of(args, "b_scale", wide_b, "b", false);
  for (const auto& [param, zero, operand] :
       {std::tuple<const char*, const Spread*, const Meta*>{"a", &q.a_zero, &a}, {"b", &q.b_zero, &b}})
    require(zero->index < 0 || zero->meta.dtype == operand->dtype, Code::dtype,
            "{}: the zero point of {} is {}, {} is {}; they must have one dtype", args.op(), param,
            to_string(zero->meta), param, to_string(*operand));
  if (!is_quantised(args)) return q;
  require_byte(args.op(), "y_zero_point", args.tensor("y_zero_point"));
  require_single(args.op(), "y_zero_point", args.tensor("y_zero_point"));
  require_single(args.op(), "y_scale", args.tensor("y_scale"));
  for (const char* param : {"a_scale", "b_scale", "y_scale"}) require_scale(args.op(), param, args.tensor(param));
  return q;
}

Metas infer(const Args& a) {
  const Problem q = problem_of(a);
  return {Meta(is_quantised(a) ? a.tensor("y_zero_point").dtype : DType::int32, q.shape())};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 2 * outputs[0].numel() * problem_of(a).p.k();
  return c;
}

// Element offsets of each batch entry of an operand whose leading dims broadcast to `batch`.
std::vector<int64_t> offsets_of(const Shape& batch, const Meta& m) {
  const size_t rank = m.shape.size() - 2, lead = batch.size() - rank;
  std::vector<int64_t> offsets;
  Ints index(batch.size(), 0);
  for (int64_t i = 0; i < numel(batch); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d)
      if (m.shape[d] != 1) at += index[d + lead] * m.strides[d];
    offsets.push_back(at);
    for (size_t d = batch.size(); d-- > 0;) {
      if (++index[d] < batch[d]) break;
      index[d] = 0;
    }
  }
  return offsets;
}

// Where a spread value is for row or column i of a batch entry.
struct Place {
  int index = -1;
  int64_t step = 0;
  std::vector<int64_t> offsets;
  ReadFloats read = nullptr;

  Place(const Args& a, const Spread& s, const Shape& batch) : index(s.index) {
    if (index < 0) return;
    step = s.meta.dim(-1) == 1 && s.meta.dim(-2) == 1 ? 0 : 1;
    offsets = offsets_of(batch, s.meta);
    read = reader(a.op(), s.meta.dtype);
  }
  int64_t at(int64_t entry, int64_t i) const { return offsets[static_cast<size_t>(entry)] + step * i; }
  int32_t zero(const Run& r, bool is_signed, int64_t entry, int64_t i) const {
    return index < 0 ? 0 : byte_at(r.inputs[index], is_signed, at(entry, i));
  }
  void scales(const Run& r, int64_t entry, int64_t first, int64_t n, float* to) const {
    read(r.inputs[index], at(entry, first), step == 0 ? 1 : n, to);
    if (step == 0) std::fill(to + 1, to + n, to[0]);
  }
};

// Everything that a run needs.
struct Job {
  IntProduct size;
  bool a_signed, b_signed;
  int a_index, b_index;
  std::vector<int64_t> a_at, b_at;
  Place a_zero, b_zero;

  Job(const Args& args, const Problem& q)
      : size{numel(q.p.batch), q.p.m(), q.p.n(), q.p.k()},
        a_signed(q.a_signed),
        b_signed(q.b_signed),
        a_index(args.operand("a")),
        b_index(args.operand("b")),
        a_at(offsets_of(q.p.batch, q.p.a)),
        b_at(offsets_of(q.p.batch, q.p.b)),
        a_zero(args, q.a_zero, q.p.batch),
        b_zero(args, q.b_zero, q.p.batch) {}

  template <class T>
  static void less(const T* from, int64_t n, int32_t zero, int16_t* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
  }
  template <class T>
  static void less_each(const T* from, int64_t n, const int16_t* zero, int16_t* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int16_t>(from[i] - zero[i]);
  }

  void run(const Run& r, TakeTile take) const {
    const auto rows = [&](int64_t batch, int64_t row, int64_t count, int64_t k, int64_t depth, int16_t* dst) {
      for (int64_t i = 0; i < count; ++i, dst += depth) {
        const int64_t at = a_at[static_cast<size_t>(batch)] + (row + i) * size.k + k;
        const int32_t zero = a_zero.zero(r, a_signed, batch, row + i);
        if (a_signed)
          less(r.in<int8_t>(a_index) + at, depth, zero, dst);
        else
          less(r.in<uint8_t>(a_index) + at, depth, zero, dst);
      }
    };
    const auto cols = [&](int64_t batch, int64_t k, int64_t depth, int64_t col, int64_t count, int16_t* dst) {
      int16_t zero[kIntCols];
      for (int64_t i = 0; i < count; ++i) zero[i] = static_cast<int16_t>(b_zero.zero(r, b_signed, batch, col + i));
      for (int64_t i = 0; i < depth; ++i, dst += kIntCols) {
        const int64_t at = b_at[static_cast<size_t>(batch)] + (k + i) * size.n + col;
        if (b_signed)
          less_each(r.in<int8_t>(b_index) + at, count, zero, dst);
        else
          less_each(r.in<uint8_t>(b_index) + at, count, zero, dst);
        std::fill(dst + count, dst + kIntCols, int16_t{0});
      }
    };
    int_product(r.team, size, rows, cols, take);
  }
};

Bound bind_sums(const Args& args, const Metas&) {
  const Job job(args, problem_of(args));
  return [job](const Run& r) {
    int32_t* y = r.out<int32_t>(0);
    const IntProduct& s = job.size;
    job.run(r, [&](int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, const int32_t* tile) {
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(tile + i * kIntCols, cols, y + (batch * s.m + row + i) * s.n + col);
    });
  };
}

template <class T>
Bound quantised(const Args& args, const Problem& q) {
  struct All {
    Job job;
    Place a_scale, b_scale;
    ReadFloats read_scale;
    int y_scale, y_zero;
  };
  const All all{Job(args, q),
                Place(args, q.a_scale, q.p.batch),
                Place(args, q.b_scale, q.p.batch),
                reader(args.op(), args.tensor("y_scale").dtype),
                args.operand("y_scale"),
                args.operand("y_zero_point")};
  return [all](const Run& r) {
    T* y = r.out<T>(0);
    const IntProduct& s = all.job.size;
    float y_scale = 1;
    all.read_scale(r.inputs[all.y_scale], 0, 1, &y_scale);
    const int64_t zero = *r.in<T>(all.y_zero);
    all.job.run(r, [&](int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, const int32_t* tile) {
      float a[kIntRows], b[kIntCols];
      all.a_scale.scales(r, batch, row, rows, a);
      all.b_scale.scales(r, batch, col, cols, b);
      for (int64_t i = 0; i < rows; ++i) {
        T* to = y + (batch * s.m + row + i) * s.n + col;
        for (int64_t j = 0; j < cols; ++j)
          to[j] = static_cast<T>(requantize(tile[i * kIntCols + j], a[i] * b[j] / y_scale, zero,
                                            std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      }
    });
  };
}
Bound bind_quantised(const Args& args, const Metas& outputs) {
  const Problem q = problem_of(args);
  return outputs[0].dtype == DType::int8 ? quantised<int8_t>(args, q) : quantised<uint8_t>(args, q);
}

// Every value of a spread operand, or of a or b, at (batch..., m, k) or (batch..., k, n).
std::vector<double> everywhere(const Tensor& t, const Shape& seen, const Shape& batch, int64_t rows, int64_t cols) {
  Shape full = batch;
  full.push_back(rows);
  full.push_back(cols);
  return t.view(seen).expand(full).to_doubles();
}

std::vector<Tensor> oracle(const Args& args, const std::vector<Tensor>& in) {
  const Problem q = problem_of(args);
  const int64_t m = q.p.m(), k = q.p.k(), n = q.p.n(), batch = numel(q.p.batch);
  const auto values = [&](const Spread& s, int64_t rows, int64_t cols) {
    if (s.index < 0) return std::vector<double>(static_cast<size_t>(batch * rows * cols), 0.0);
    return everywhere(in[static_cast<size_t>(s.index)], s.meta.shape, q.p.batch, rows, cols);
  };
  const auto a = everywhere(in[static_cast<size_t>(args.operand("a"))], q.p.a.shape, q.p.batch, m, k);
  const auto b = everywhere(in[static_cast<size_t>(args.operand("b"))], q.p.b.shape, q.p.batch, k, n);
  const auto a_zero = values(q.a_zero, m, 1), b_zero = values(q.b_zero, 1, n);
  const auto a_scale = values(q.a_scale, m, 1), b_scale = values(q.b_scale, 1, n);
  std::vector<int64_t> y;
  for (int64_t e = 0; e < batch; ++e)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const size_t row = static_cast<size_t>(e * m + i), col = static_cast<size_t>(e * n + j);
        double sum = 0;
        for (int64_t c = 0; c < k; ++c)
          sum += (a[static_cast<size_t>((e * m + i) * k + c)] - a_zero[row]) *
                 (b[static_cast<size_t>((e * k + c) * n + j)] - b_zero[col]);
        if (!is_quantised(args)) {
          y.push_back(static_cast<int64_t>(sum));
          continue;
        }
        const bool is_signed = args.tensor("y_zero_point").dtype == DType::int8;
        const float y_scale = static_cast<float>(in[static_cast<size_t>(args.operand("y_scale"))].item());
        const float both = static_cast<float>(a_scale[row]) * static_cast<float>(b_scale[col]);
        const double v = std::nearbyint(sum * static_cast<double>(both / y_scale)) +
                         in[static_cast<size_t>(args.operand("y_zero_point"))].item();
        y.push_back(static_cast<int64_t>(std::clamp(v, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0)));
      }
  return {Tensor::of<int64_t>(q.shape(), std::span<const int64_t>(y))};
}

constexpr DType kBytes[] = {DType::int8, DType::uint8};
Tensor bytes(const Shape& shape, DType dtype, uint64_t seed = 0) {
  return dtype == DType::int8 ? rand_ints(shape, -128, 128, dtype, seed) : rand_ints(shape, 0, 256, dtype, seed);
}

void sum_samples(SampleSink& s) {
  for (const DType a : kBytes)
    for (const DType b : kBytes) {
      s.add({bytes({3, 5}, a), bytes({5, 4}, b, 1)});
      s.add({bytes({70, 300}, a), bytes({300, 131}, b, 1), bytes({}, a, 2), bytes({}, b, 3)});  // more than one tile
      s.add({bytes({6, 9}, a), bytes({9, 7}, b, 1), bytes({6}, a, 2), bytes({7}, b, 3)});
      s.add({bytes({2, 1, 6, 9}, a), bytes({3, 9, 7}, b, 1), bytes({2, 1, 6, 1}, a, 2), bytes({3, 1, 7}, b, 3)});
    }
  // 255 x 127 over 64 is 2 072 640: an instruction that adds pairs in int16 would saturate.
  s.add({Tensor::full({5, 64}, 255, DType::uint8), Tensor::full({64, 33}, 127, DType::int8)});
  // The widest factors: 255 less 0, and -128 less 127.
  s.add({Tensor::full({4, 1000}, 255, DType::uint8), Tensor::full({1000, 17}, -128, DType::int8), none,
         Tensor::scalar(int8_t{127})});
  s.add({bytes({9}, DType::uint8), bytes({9, 7}, DType::int8)});
  s.add({bytes({4, 9}, DType::uint8), bytes({9}, DType::int8)});
  s.add({bytes({9}, DType::uint8), bytes({9}, DType::int8)});
  s.add({bytes({3, 0}, DType::uint8), bytes({0, 4}, DType::int8)});
  s.add({bytes({0, 5}, DType::uint8), bytes({5, 4}, DType::int8)});
  s.add({bytes({0, 3, 5}, DType::uint8), bytes({5, 4}, DType::int8)});
  s.add({strided(bytes({6, 9}, DType::uint8)), strided(bytes({9, 7}, DType::int8))});
  s.error(Code::shape, {"inner extents", "5", "6"}, {bytes({3, 5}, DType::int8), bytes({6, 4}, DType::int8)});
  s.error(Code::dtype, {"int16"}, {bytes({3, 5}, DType::int8), rand_ints({5, 4}, 0, 9, DType::int16)});
  s.error(Code::shape, {"a_zero_point", "[4]", "row"},
          {bytes({3, 5}, DType::int8), bytes({5, 4}, DType::int8), bytes({4}, DType::int8)});
  s.error(Code::dtype, {"zero point of b", "uint8"},
          {bytes({3, 5}, DType::int8), bytes({5, 4}, DType::int8), none, bytes({}, DType::uint8)});
}

void quantised_samples(SampleSink& s) {
  const Tensor scale = Tensor::scalar(0.02f), y_scale = Tensor::scalar(0.9f);
  for (const DType a : kBytes)
    for (const DType y : kBytes) {
      const Tensor zero = Tensor::scalar(int64_t{11}).to(y);
      s.add({bytes({5, 9}, a), scale, bytes({}, a, 1), bytes({9, 7}, DType::int8, 2), scale, bytes({}, DType::int8, 3),
             y_scale, zero});
      s.add({bytes({70, 40}, a), rand_uniform({70}, 0.01, 0.02), bytes({70}, a, 1), bytes({40, 90}, DType::uint8, 2),
             rand_uniform({90}, 0.01, 0.03), bytes({90}, DType::uint8, 3), y_scale, zero});
    }
  // Halves: the product 1 x k with a multiplier of one half goes to even before the zero point is added.
  s.add({Tensor::of<int8_t>({6, 1}, {1, 3, 5, -1, -3, -5}), Tensor::scalar(0.5f), Tensor::scalar(int8_t{0}),
         Tensor::of<int8_t>({1, 1}, {1}), Tensor::scalar(1.0f), Tensor::scalar(int8_t{0}), Tensor::scalar(1.0f),
         Tensor::scalar(int8_t{1})});
  // Both ends.
  s.add({Tensor::full({2, 64}, 255, DType::uint8), Tensor::scalar(1.0f), Tensor::scalar(uint8_t{0}),
         bytes({64, 9}, DType::int8), Tensor::scalar(1.0f), Tensor::scalar(int8_t{0}), Tensor::scalar(0.01f),
         Tensor::scalar(uint8_t{128})});
  s.error(Code::shape, {"y_scale", "[2]"},
          {bytes({5, 9}, DType::int8), scale, bytes({}, DType::int8), bytes({9, 7}, DType::int8), scale,
           bytes({}, DType::int8), rand_uniform({2}, 1, 2), bytes({}, DType::int8)});
  s.error(Code::dtype, {"a_scale", "int64"},
          {bytes({5, 9}, DType::int8), Tensor::scalar(int64_t{1}), bytes({}, DType::int8), bytes({9, 7}, DType::int8),
           scale, bytes({}, DType::int8), y_scale, bytes({}, DType::int8)});
}

Value optional(Importing& in, int i) { return in.has_input(i) ? Value(in.input(i)) : Value(None{}); }
void import_sums(Importing& in) {
  in.output(0, in.emit("custom::matmul_integer", {in.input(0), in.input(1), optional(in, 2), optional(in, 3)}));
}
void import_quantised(Importing& in) {
  std::vector<Value> args;
  for (int i = 0; i < 8; ++i) args.push_back(in.input(i));
  in.output(0, in.emit("custom::qlinear_matmul", std::move(args)));
}

}  // namespace

namespace decls {

Decls integer_matmul() {
  OpDecl sums;
  sums.schema =
      "custom::matmul_integer(Tensor a, Tensor b, Tensor? a_zero_point=None, Tensor? b_zero_point=None) -> Tensor";
  sums.infer = infer;
  sums.cost = cost;
  sums.keys = shape_keys;
  sums.kernels = {cpu("matmul_integer_cpu", bind_sums)};
  sums.oracle = oracle;
  sums.samples = sum_samples;
  sums.imports = {{"MatMulInteger", import_sums, 10}};
  sums.source = "ONNX MatMulInteger";

  OpDecl quantised = sums;
  quantised.schema =
      "custom::qlinear_matmul(Tensor a, Tensor a_scale, Tensor a_zero_point, Tensor b, Tensor b_scale, "
      "Tensor b_zero_point, Tensor y_scale, Tensor y_zero_point) -> Tensor";
  quantised.kernels = {cpu("qlinear_matmul_cpu", bind_quantised)};
  quantised.samples = quantised_samples;
  quantised.dtypes = {DType::float32, DType::float16, DType::bfloat16};
  quantised.imports = {{"QLinearMatMul", import_quantised, 10}};
  quantised.source = "ONNX QLinearMatMul";
  return {sums, quantised};
}

}  // namespace decls
}  // namespace nbx
