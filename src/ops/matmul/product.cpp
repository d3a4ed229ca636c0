// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/product.h"

#include <algorithm>

#include "backend/cpu/gemm.h"
#include "ops/activation_text.h"
#include "ops/subnormals.h"

namespace nbx {

Shape Product::shape() const {
  Shape s = batch;
  s.push_back(m());
  s.push_back(n());
  return s;
}

Meta transposed(const Meta& m) {
  Meta t = m;
  const size_t r = t.shape.size();
  std::swap(t.shape[r - 1], t.shape[r - 2]);
  std::swap(t.strides[r - 1], t.strides[r - 2]);
  t.known = {};
  if (m.known.defined()) t.known = m.known.transpose(-1, -2);
  return t;
}

Meta unsqueezed(const Meta& m, int64_t at) {
  Meta t = m;
  t.shape.insert(t.shape.begin() + at, 1);
  t.strides.insert(t.strides.begin() + at, 0);
  if (m.known.defined()) t.known = m.known.unsqueeze(at);
  return t;
}

DType same_dtype(const std::string& op, const Meta& a, const Meta& b) {
  require(a.dtype == b.dtype, Code::dtype, "{}: operands must have one dtype, they are {} and {}; convert one of them",
          op, to_string(a), to_string(b));
  require(!is_complex(a.dtype), Code::unsupported, "{}: complex operands ({}) are not supported", op, to_string(a));
  return a.dtype;
}

Product make_product(const std::string& op, const Meta& a, const Meta& b) {
  Product p;
  p.dtype = same_dtype(op, a, b);
  p.a = a;
  p.b = b;
  require(a.dim(-1) == b.dim(-2), Code::shape, "{}: inner extents differ, {} of {} and {} of {}", op, a.dim(-1),
          to_string(a), b.dim(-2), to_string(b));
  const size_t ra = a.shape.size() - 2, rb = b.shape.size() - 2, r = std::max(ra, rb);
  for (size_t d = 0; d < r; ++d) {
    const int64_t ea = d + ra >= r ? a.shape[d + ra - r] : 1;
    const int64_t eb = d + rb >= r ? b.shape[d + rb - r] : 1;
    require(ea == eb || ea == 1 || eb == 1, Code::shape, "{}: batch extents {} and {} do not broadcast ({} and {})", op,
            ea, eb, to_string(a), to_string(b));
    p.batch.push_back(ea == 1 ? eb : ea);
  }
  return p;
}

namespace {

// Element offsets of each batch entry of an operand whose leading dims broadcast to `batch`.
std::vector<int64_t> batch_offsets(const Shape& batch, const Meta& m, size_t matrix_dims) {
  const size_t rank = m.shape.size() - matrix_dims;
  const size_t lead = batch.size() - std::min(batch.size(), rank);
  std::vector<int64_t> offsets;
  const int64_t count = numel(batch);
  offsets.reserve(static_cast<size_t>(count));
  Ints index(batch.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
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

// The stride from entry to entry, when there is one for all of them.
std::optional<int64_t> uniform_step(const std::vector<int64_t>& offsets) {
  if (offsets.size() < 2) return 0;
  const int64_t step = offsets[1] - offsets[0];
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != step) return std::nullopt;
  return step;
}

bool gemm_dtype(DType t) { return t == DType::float32 || t == DType::float16 || t == DType::bfloat16; }

// An addend that the GEMM's epilogue takes as it is: one value a column, float32, dense.
bool is_column_bias(const Meta& m, int64_t n) {
  if (m.dtype != DType::float32 || m.shape.empty() || m.shape.back() != n) return false;
  if (n > 1 && m.strides.back() != 1) return false;
  for (size_t d = 0; d + 1 < m.shape.size(); ++d)
    if (m.shape[d] != 1) return false;
  return true;
}

// Rows of all batch entries as one matrix: B is one matrix for all, and A's rows follow each other evenly.
bool rows_fold(const Product& p) {
  for (size_t d = 0; d + 2 < p.b.shape.size(); ++d)
    if (p.b.shape[d] != 1) return false;
  if (p.a.shape.size() - 2 != p.batch.size()) return false;
  int64_t expected = 0;
  for (size_t d = p.a.shape.size() - 1; d-- > 0;) {
    if (p.a.shape[d] != p.shape()[d]) return false;
    if (p.a.shape[d] == 1) continue;
    if (expected != 0 && p.a.strides[d] != expected) return false;
    expected = p.a.strides[d] * p.a.shape[d];
  }
  return true;
}

int64_t folded_row_stride(const Product& p) {
  for (size_t d = p.a.shape.size() - 1; d-- > 0;)
    if (p.a.shape[d] != 1) return p.a.strides[d];
  return p.k();
}

MatrixView view_of(const Meta& m) {
  MatrixView v;
  v.dtype = m.dtype;
  v.row_stride = m.strides[m.strides.size() - 2];
  v.col_stride = m.strides[m.strides.size() - 1];
  return v;
}

}  // namespace

bool gemm_serves(const Product& p) {
  if (!gemm_dtype(p.dtype) || p.a.weak || p.b.weak) return false;
  if (p.addend && !(is_column_bias(*p.addend, p.n()) && p.beta == 1)) return false;
  return true;
}

Bound bind_gemm(Product p, PackCache* packs) {
  Gemm g;
  g.k = p.k();
  g.n = p.n();
  g.m = p.m();
  g.a = view_of(p.a);
  g.b = view_of(p.b);
  g.c_dtype = p.dtype;
  g.c_row_stride = p.n();
  g.epilogue.alpha = static_cast<float>(p.alpha);
  g.epilogue.act = p.activation;

  std::shared_ptr<const PackedB> packed_b;
  const bool one_b =
      numel(p.batch) > 0 && std::all_of(p.b.shape.begin(), p.b.shape.end() - 2, [](int64_t e) { return e == 1; });
  if (p.b.known.defined() && one_b && p.k() > 0 && p.n() > 0) {
    const Tensor weight = p.b.known;
    const auto make = [&] {
      const Tensor w = without_subnormals(weight);
      MatrixView v = view_of(p.b);
      v.data = w.raw();
      v.row_stride = w.strides()[w.strides().size() - 2];
      v.col_stride = w.strides().back();
      auto packed = std::make_shared<const PackedB>(v, p.k(), p.n());
      if (packs) packs->add_bytes(packed->bytes());
      return packed;
    };
    packed_b = packs ? std::static_pointer_cast<const PackedB>(
                           packs->get(weight, "gemm.b", [&] { return std::static_pointer_cast<const void>(make()); }))
                     : make();
  }

  std::vector<int64_t> a_at{0}, b_at{0}, c_at{0};
  if (rows_fold(p)) {
    g.m = numel(p.batch) * p.m();
    g.a.row_stride = folded_row_stride(p);
  } else {
    a_at = batch_offsets(p.batch, p.a, 2);
    b_at = batch_offsets(p.batch, p.b, 2);
    const auto a_step = uniform_step(a_at), b_step = uniform_step(b_at);
    if (a_step && b_step) {
      g.batch = static_cast<int64_t>(a_at.size());
      g.a.batch_stride = *a_step;
      g.b.batch_stride = *b_step;
      g.c_batch_stride = p.m() * p.n();
      const size_t keep = a_at.empty() ? 0 : 1;
      a_at.resize(keep);
      b_at.resize(keep);
      c_at.resize(keep);
    } else {
      c_at.clear();
      for (size_t i = 0; i < a_at.size(); ++i) c_at.push_back(static_cast<int64_t>(i) * p.m() * p.n());
    }
  }
  const int64_t size = itemsize(p.dtype);
  return [g, packed_b, a_at = std::move(a_at), b_at = std::move(b_at), c_at = std::move(c_at), size, ia = p.a_index,
          ib = p.b_index, ibias = p.addend_index, ires = p.residual_index](const Run& r) {
    for (size_t i = 0; i < a_at.size(); ++i) {
      Gemm call = g;
      call.a.data = r.in<char>(ia) + a_at[i] * size;
      if (packed_b)
        call.packed_b = packed_b.get();
      else
        call.b.data = r.in<char>(ib) + b_at[i] * size;
      call.c = r.out<char>(0) + c_at[i] * size;
      call.epilogue.col_bias = r.in<float>(ibias);
      if (ires >= 0) call.epilogue.residual = r.in<char>(ires) + c_at[i] * size;
      gemm(r.team, call);
    }
  };
}

namespace {

template <class T, class Sum>
Sum widened(const void* data, int64_t i) {
  const T v = static_cast<const T*>(data)[i];
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<Sum>(to_float(v));
  else
    return static_cast<Sum>(v);
}

template <class T>
T narrowed(double v) {
  if constexpr (std::is_same_v<T, float16_t>)
    return to_float16(v);
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return to_bfloat16(v);
  else
    return static_cast<T>(v);
}

template <class T>
Bound plain(const Product& p) {
  constexpr bool integral = std::is_integral_v<T>;
  using Sum = std::conditional_t<integral, uint64_t, double>;
  auto a_at = batch_offsets(p.batch, p.a, 2), b_at = batch_offsets(p.batch, p.b, 2);
  Meta addend;
  std::vector<int64_t> d_at;
  if (p.addend) {  // rank up to that of the result: missing leading extents are 1
    addend = *p.addend;
    while (addend.shape.size() < 2) addend = unsqueezed(addend, 0);
    d_at = batch_offsets(p.batch, addend, 2);
  }
  return [p, a_at, b_at, d_at, addend](const Run& r) {
    const int64_t m = p.m(), n = p.n(), k = p.k();
    const int64_t ars = p.a.strides[p.a.strides.size() - 2], acs = p.a.strides.back();
    const int64_t brs = p.b.strides[p.b.strides.size() - 2], bcs = p.b.strides.back();
    const void *a = r.in<void>(p.a_index), *b = r.in<void>(p.b_index), *d = r.in<void>(p.addend_index);
    const T* residual = r.in<T>(p.residual_index);
    T* c = r.out<T>(0);
    const bool use_addend = p.addend.has_value() && p.beta != 0;
    parallel_rows(r.team, static_cast<int64_t>(a_at.size()) * m,
                  std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      const size_t e = static_cast<size_t>(row / m);
                      const int64_t i = row % m;
                      for (int64_t j = 0; j < n; ++j) {
                        Sum sum = 0;
                        for (int64_t x = 0; x < k; ++x)
                          sum += widened<T, Sum>(a, a_at[e] + i * ars + x * acs) *
                                 widened<T, Sum>(b, b_at[e] + x * brs + j * bcs);
                        const int64_t at = row * n + j;
                        int64_t d_index = 0;
                        if (use_addend) {
                          const size_t q = addend.shape.size();
                          d_index = d_at[e] + (addend.shape[q - 2] == 1 ? 0 : i * addend.strides[q - 2]) +
                                    (addend.shape[q - 1] == 1 ? 0 : j * addend.strides[q - 1]);
                        }
                        if constexpr (integral) {
                          uint64_t v = sum * static_cast<uint64_t>(static_cast<int64_t>(p.alpha));
                          if (use_addend)
                            v += widened<T, uint64_t>(d, d_index) * static_cast<uint64_t>(static_cast<int64_t>(p.beta));
                          c[at] = static_cast<T>(v);
                        } else {
                          double v = p.alpha * sum;
                          if (use_addend) v += p.beta * widened<T, double>(d, d_index);
                          if (residual) v += widened<T, double>(residual, at);
                          c[at] = narrowed<T>(activate(p.activation, v));
                        }
                      }
                    }
                  });
  };
}

}  // namespace

Bound bind_plain(Product p) {
  p.a.known = p.b.known = {};
  switch (p.dtype) {
    case DType::float64:
      return plain<double>(p);
    case DType::float32:
      return plain<float>(p);
    case DType::float16:
      return plain<float16_t>(p);
    case DType::bfloat16:
      return plain<bfloat16_t>(p);
    case DType::int8:
      return plain<int8_t>(p);
    case DType::int16:
      return plain<int16_t>(p);
    case DType::int32:
      return plain<int32_t>(p);
    case DType::int64:
      return plain<int64_t>(p);
    case DType::uint8:
      return plain<uint8_t>(p);
    case DType::uint16:
      return plain<uint16_t>(p);
    case DType::uint32:
      return plain<uint32_t>(p);
    case DType::uint64:
      return plain<uint64_t>(p);
    default:
      fail(Code::dtype, "matmul: {} is not supported", name(p.dtype));
  }
}

Tensor product_oracle(const Product& p, const std::vector<Tensor>& operands) {
  // Through views and broadcast in float64: slow and plain.
  const auto view = [&](int i, const Meta& m) {
    const Tensor t = operands[static_cast<size_t>(i)].to(DType::float64);
    return t.as_strided(m.shape, m.strides, 0);
  };
  const auto spread = [&](const Tensor& t, int64_t rows, int64_t cols) {
    Shape s = p.batch;
    s.push_back(rows);
    s.push_back(cols);
    return t.expand(s).contiguous();
  };
  const int64_t m = p.m(), n = p.n(), k = p.k(), entries = numel(p.batch);
  const Tensor a = spread(view(p.a_index, p.a), m, k), b = spread(view(p.b_index, p.b), k, n);
  Tensor out = Tensor::zeros(p.shape(), DType::float64);
  const double *pa = a.data<double>(), *pb = b.data<double>();
  double* po = out.mutable_data<double>();
  for (int64_t e = 0; e < entries; ++e)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t x = 0; x < k; ++x)
        for (int64_t j = 0; j < n; ++j) po[(e * m + i) * n + j] += pa[(e * m + i) * k + x] * pb[(e * k + x) * n + j];
  for (int64_t i = 0; i < out.numel(); ++i) po[i] *= p.alpha;
  const auto add = [&](const std::optional<Meta>& meta, int index, double factor) {
    if (!meta || factor == 0) return;
    const Tensor t = view(index, *meta).expand(p.shape()).contiguous();
    for (int64_t i = 0; i < out.numel(); ++i) po[i] += factor * t.data<double>()[i];
  };
  add(p.addend, p.addend_index, p.beta);
  add(p.residual, p.residual_index, 1);
  for (int64_t i = 0; i < out.numel(); ++i) po[i] = activate(p.activation, po[i]);
  return out;
}

}  // namespace nbx
