// SPDX-License-Identifier: Apache-2.0
// Evenly spaced numbers.
#include "ops/creation/range/range.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dtype/promotion.h"
#include "ops/shape/views.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

struct Span {
  DType dtype = DType::float32;
  bool integral = false;  // whole numbers all the way: exact in int64
  int64_t first = 0, pace = 1;
  double start = 0, step = 1;
  int64_t count = 0;
};

int64_t counted(const Args& a, double start, double end, double step) {
  require(std::isfinite(start) && std::isfinite(end), Code::value, "{}: start {} and end {} must be finite", a.op(),
          start, end);
  const double count = std::ceil((end - start) / step);
  require(count < 9.2e18, Code::shape, "{}: from {} to {} by {} has too many elements", a.op(), start, end, step);
  return static_cast<int64_t>(std::max(count, 0.0));
}

Span arange_span(const Args& a) {
  const auto get = [&](const char* param, int64_t otherwise) {
    return a.schema().find(param) >= 0 ? a.scalar(param) : Scalar{otherwise};
  };
  const Scalar start = get("start", 0), end = get("end", 0), step = get("step", 1);
  bool whole = true;
  for (const Scalar& v : {start, end, step}) {
    require(v.category() != Category::complex, Code::dtype, "arange: start, end and step must be real");
    whole = whole && v.category() != Category::floating;
  }
  Span s;
  s.dtype = a.optional_dtype("dtype").value_or(whole ? DType::int64 : kDefaultFloat);
  require(!is_complex(s.dtype) && s.dtype != DType::bool_, Code::dtype, "arange: {} has no ranges", name(s.dtype));
  s.start = start.as_double();
  s.step = step.as_double();
  s.first = start.as_int();
  s.pace = step.as_int();
  s.integral = is_integral(s.dtype);
  require(s.step != 0, Code::value, "arange: step is 0");
  const double last = end.as_double();
  require(s.step > 0 ? last >= s.start : last <= s.start, Code::value,
          "arange: from {} to {} is against the sign of step {}", s.start, last, s.step);
  if (whole) {
    // In integers, so that spans beyond 2^53 count right.
    const __int128 distance = static_cast<__int128>(end.as_int()) - s.first;
    const __int128 count = (distance + s.pace + (s.pace > 0 ? -1 : 1)) / s.pace;
    require(count <= INT64_MAX, Code::shape, "arange: from {} to {} by {} has too many elements", s.first, end.as_int(),
            s.pace);
    s.count = static_cast<int64_t>(count);
  } else {
    // The count is that of the numbers as given, even where the elements drop their fractions.
    s.count = counted(a, s.start, last, s.step);
  }
  return s;
}
Metas arange(const Args& a) {
  const Span s = arange_span(a);
  return {Meta(s.dtype, Shape{s.count})};
}

Bound bind_span(const Span& s) {
  const CopyRun convert = copy_run(s.integral ? DType::int64 : DType::float64, s.dtype);
  const int64_t size = itemsize(s.dtype);
  return [=](const Run& r) {
    parallel_rows(r.team, s.count, 16384, [&](int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 256;
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t n = std::min(kBlock, end - at);
        std::byte* to = r.out<std::byte>(0) + at * size;
        if (s.integral) {
          int64_t values[kBlock];
          // Unsigned: narrower ones wrap on the way to their dtype, as ATen's.
          for (int64_t i = 0; i < n; ++i)
            values[i] = static_cast<int64_t>(static_cast<uint64_t>(s.first) +
                                             static_cast<uint64_t>(at + i) * static_cast<uint64_t>(s.pace));
          convert(reinterpret_cast<const std::byte*>(values), 1, to, 1, n);
        } else {
          double values[kBlock];
          for (int64_t i = 0; i < n; ++i) values[i] = s.start + static_cast<double>(at + i) * s.step;
          convert(reinterpret_cast<const std::byte*>(values), 1, to, 1, n);
        }
      }
    });
  };
}
Bound bind_arange(const Args& a, const Metas&) { return bind_span(arange_span(a)); }
std::vector<Tensor> span_oracle(const Span& s) {
  std::vector<double> values;
  std::vector<int64_t> whole;
  for (int64_t i = 0; i < s.count; ++i) {
    values.push_back(s.start + static_cast<double>(i) * s.step);
    whole.push_back(s.first + i * s.pace);
  }
  if (s.integral) return {Tensor::of<int64_t>({s.count}, whole).to(s.dtype)};
  return {Tensor::of<double>({s.count}, values)};
}
std::vector<Tensor> arange_oracle(const Args& a, const std::vector<Tensor>&) { return span_oracle(arange_span(a)); }

// ONNX Range: three tensors of one dtype, which is the result's.
Span onnx_span(const Args& a) {
  const Meta &start = a.tensor("start"), &limit = a.tensor("limit"), &delta = a.tensor("delta");
  for (const Meta* m : {&start, &limit, &delta}) {
    require(m->numel() == 1, Code::shape, "onnx_range: start, limit and delta must have one element each, one is {}",
            to_string(*m));
    require(m->known.defined(), Code::internal, "onnx_range: the values of start, limit and delta are not known");
    require(m->dtype == start.dtype, Code::dtype, "onnx_range: start is {}, another one is {}", name(start.dtype),
            name(m->dtype));
  }
  Span s;
  s.dtype = start.dtype;
  s.integral = is_integral(s.dtype);
  s.start = start.known.item();
  s.step = delta.known.item();
  require(s.step != 0, Code::value, "onnx_range: delta is 0");
  if (s.integral) {
    s.first = start.known.item_int();
    s.pace = delta.known.item_int();
    const __int128 distance = static_cast<__int128>(limit.known.item_int()) - s.first;
    const __int128 count = (distance + s.pace + (s.pace > 0 ? -1 : 1)) / s.pace;
    require(count <= INT64_MAX, Code::shape, "onnx_range: from {} by {} has too many elements", s.first, s.pace);
    s.count = std::max<int64_t>(static_cast<int64_t>(count), 0);
  } else {
    s.count = counted(a, s.start, limit.known.item(), s.step);
  }
  return s;
}
Metas onnx_range(const Args& a) {
  const Span s = onnx_span(a);
  return {Meta(s.dtype, Shape{s.count})};
}
Bound bind_onnx_range(const Args& a, const Metas&) { return bind_span(onnx_span(a)); }
std::vector<Tensor> onnx_range_oracle(const Args& a, const std::vector<Tensor>&) { return span_oracle(onnx_span(a)); }

// linspace: from start in the first half, from end in the second, so that both ends are exact.
struct Ends {
  DType dtype = DType::float32;
  std::complex<double> start, end;
  int64_t steps = 0;
};
Ends ends_of(const Args& a) {
  const auto get = [&](const char* param) {
    if (const Meta* m = std::holds_alternative<TensorRef>(a.value(param)) ? &a.tensor(param) : nullptr)
      require(m->rank() == 0, Code::shape, "linspace: {} must be 0-d, it is {}", param, to_string(*m));
    return a.scalar(param);
  };
  const Scalar start = get("start"), end = get("end");
  Ends e;
  const bool complex = start.category() == Category::complex || end.category() == Category::complex;
  e.dtype = a.optional_dtype("dtype").value_or(complex ? kDefaultComplex : kDefaultFloat);
  require(!complex || is_complex(e.dtype), Code::dtype, "linspace: a complex start or end does not fit into {}",
          name(e.dtype));
  const auto wide = [](const Scalar& s) {
    if (const auto* c = std::get_if<std::complex<double>>(&s.value)) return *c;
    return std::complex<double>(s.as_double(), 0);
  };
  e.start = wide(start);
  e.end = wide(end);
  e.steps = a.integer("steps");
  require(e.steps >= 0, Code::value, "linspace: steps is {}; it must not be negative", e.steps);
  return e;
}
Metas linspace(const Args& a) {
  const Ends e = ends_of(a);
  return {Meta(e.dtype, Shape{e.steps})};
}
// W: the type steps are computed in (float for float32 and half, else double).
template <class W>
Bound bind_ends(const Ends& e, DType wide) {
  const CopyRun convert = copy_run(wide, e.dtype);
  const int64_t size = itemsize(e.dtype), steps = e.steps;
  W start{}, end{};
  if constexpr (std::is_same_v<W, std::complex<double>>) {
    start = e.start;
    end = e.end;
  } else {
    start = static_cast<W>(e.start.real());
    end = static_cast<W>(e.end.real());
    if (is_integral(e.dtype, true)) {  // the ends become integers first
      start = std::trunc(start);
      end = std::trunc(end);
    }
  }
  const W step = steps > 1 ? (end - start) / static_cast<W>(steps - 1) : W{};
  return [=](const Run& r) {
    parallel_rows(r.team, steps, 16384, [&](int64_t begin, int64_t past) {
      constexpr int64_t kBlock = 128;
      W values[kBlock];
      for (int64_t at = begin; at < past; at += kBlock) {
        const int64_t n = std::min(kBlock, past - at);
        for (int64_t k = 0; k < n; ++k) {
          const int64_t i = at + k;
          values[k] = steps == 1 || i < steps / 2 ? start + step * static_cast<W>(i)
                                                  : end - step * static_cast<W>(steps - i - 1);
        }
        convert(reinterpret_cast<const std::byte*>(values), 1, r.out<std::byte>(0) + at * size, 1, n);
      }
    });
  };
}
Bound bind_linspace(const Args& a, const Metas&) {
  const Ends e = ends_of(a);
  if (is_complex(e.dtype)) return bind_ends<std::complex<double>>(e, DType::complex128);
  if (e.dtype == DType::float32 || is_half(e.dtype)) return bind_ends<float>(e, DType::float32);
  return bind_ends<double>(e, DType::float64);
}
std::vector<Tensor> linspace_oracle(const Args& a, const std::vector<Tensor>&) {
  const Ends e = ends_of(a);
  const bool whole = is_integral(e.dtype, true);
  std::vector<std::complex<double>> values;
  for (int64_t i = 0; i < e.steps; ++i) {
    std::complex<double> from = e.start, to = e.end;
    if (whole) from = std::trunc(from.real()), to = std::trunc(to.real());
    const std::complex<double> step = e.steps > 1 ? (to - from) / static_cast<double>(e.steps - 1) : 0;
    values.push_back(e.steps == 1 || i < e.steps / 2 ? from + step * static_cast<double>(i)
                                                     : to - step * static_cast<double>(e.steps - 1 - i));
  }
  const Tensor all = Tensor::of<std::complex<double>>({e.steps}, values);
  if (is_complex(e.dtype)) return {all.to(e.dtype)};
  std::vector<double> real;
  for (const auto& v : values) real.push_back(v.real());
  const Tensor out = Tensor::of<double>({e.steps}, real);
  return {whole ? out.to(e.dtype) : out};
}

Cost cost(const Args&, const Metas& outputs) { return {0, outputs[0].bytes(), 0, outputs[0].numel()}; }

OpDecl op(const char* schema, InferFn infer, Bound (*bind)(const Args&, const Metas&), OracleFn oracle,
          SamplesFn samples) {
  OpDecl out = movement_op(schema, infer, {cpu("range_cpu", bind)}, oracle, samples);
  out.cost = cost;
  out.tolerance = norm_wise(3e-7, 8e-4, 6e-3);  // a step away from a large end cancels near zero
  out.dtypes = {DType::float32};
  return out;
}

void import_range(Importing& node) {
  node.output(0, node.emit("custom::onnx_range", {node.input(0), node.input(1), node.input(2)}));
}

}  // namespace

namespace decls {
Decls range() {
  Decls out = {
      op("aten::arange(Scalar end, *, ScalarType? dtype=None) -> Tensor", arange, bind_arange, arange_oracle,
         arange_samples),
      op("aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None) -> Tensor", arange, bind_arange,
         arange_oracle, arange_start_samples),
      op("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None) -> Tensor",
         arange, bind_arange, arange_oracle, arange_step_samples),
      op("custom::onnx_range(Tensor start, Tensor limit, Tensor delta) -> Tensor", onnx_range, bind_onnx_range,
         onnx_range_oracle, onnx_range_samples),
      op("aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None) -> Tensor", linspace,
         bind_linspace, linspace_oracle, linspace_samples),
      op("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None) -> Tensor",
         linspace, bind_linspace, linspace_oracle, linspace_tensor_samples<true, false>),
      op("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None) -> Tensor",
         linspace, bind_linspace, linspace_oracle, linspace_tensor_samples<false, true>),
      op("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None) -> Tensor",
         linspace, bind_linspace, linspace_oracle, linspace_tensor_samples<true, true>),
  };
  out[3].flags |= kDynamic;
  out[3].imports = {{"Range", import_range, 11}};
  out[3].source = "ONNX Range";
  for (size_t i = 5; i < 8; ++i) out[i].flags |= kDynamic;  // the ends' values choose the dtype's arithmetic
  return out;
}
}  // namespace decls
}  // namespace nbx
