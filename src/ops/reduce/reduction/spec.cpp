// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduction/spec.h"

#include <cmath>
#include <limits>
#include <string>

#include "ops/reduce/dims.h"

namespace nbx {
namespace {

bool whole(DType t) { return is_integral(t, true); }

void set_norm(ReductionSpec& s, double order) {
  if (order == 2) {
    s.passes.first = Fold::square;
    s.finish = Finish::root;
  } else if (order == 1) {
    s.passes.first = Fold::abs;
  } else if (order == 0) {
    s.passes.first = Fold::nonzero;
  } else if (std::isinf(order)) {
    s.passes.first = order > 0 ? Fold::absmax : Fold::absmin;
    s.empty_is_error = true;
  } else {
    s.passes.first = Fold::power;
    s.passes.q = order;
    s.finish = Finish::power_root;
    if (order < 0) s.empty_is_error = true;
  }
}

void set_log_sum_exp(ReductionSpec& s) {
  s.passes = {Fold::max, true, Fold::exp_shifted, Passes::Between::finite, 0};
  s.finish = Finish::log_sum_exp;
}

// ONNX's Reduce*: the result has the input's dtype.
void set_onnx(ReductionSpec& s, const std::string& kind) {
  const auto is = [&](const char* k) { return kind == k; };
  // Logs and roots of integers are taken in float64 and truncated.
  if ((is("l2") || is("log_sum") || is("log_sum_exp")) && whole(s.read)) s.read = DType::float64;
  if (is("sum"))
    s.passes.first = Fold::sum;
  else if (is("mean"))
    s.finish = Finish::mean;
  else if (is("max"))
    s.passes.first = Fold::max;
  else if (is("min"))
    s.passes.first = Fold::min;
  else if (is("prod"))
    s.passes.first = Fold::prod;
  else if (is("l1"))
    s.passes.first = Fold::abs;
  else if (is("l2"))
    set_norm(s, 2);
  else if (is("sum_square"))
    s.passes.first = Fold::square;
  else if (is("log_sum"))
    s.finish = Finish::log;
  else if (is("log_sum_exp"))
    set_log_sum_exp(s);
  else
    fail(Code::value,
         "reduce: kind '{}' is not known; use sum, mean, max, min, prod, l1, l2, sum_square, log_sum or log_sum_exp",
         kind);
}

}  // namespace

ReductionSpec reduction_spec(const Args& a) {
  const std::string op = a.op();
  const Meta& x = a.tensor("self");
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  const auto is = [&](const char* name) { return op == name; };
  require(!is_complex(x.dtype), Code::dtype, "{}: {} is not supported; take real and imaginary part", op, to_string(x));

  ReductionSpec s;
  s.over = all_dims(x.rank());
  if (has("dim") && a.has("dim")) {
    const Ints dims = a.ints("dim");
    // An empty list means every dim, but for all and any, where it means none.
    if (!dims.empty() || is("all") || is("any")) s.over = dim_mask(dims, x.rank(), op);
  }
  s.keepdim = has("keepdim") && a.flag("keepdim");
  s.read = s.out = x.dtype;
  if (has("dtype"))
    if (const auto wanted = a.optional_dtype("dtype")) s.read = s.out = *wanted;

  if (is("sum") || is("nansum") || is("prod")) {
    s.passes.first = is("prod") ? Fold::prod : is("nansum") && !whole(s.read) ? Fold::nansum : Fold::sum;
    if (whole(x.dtype) && !a.optional_dtype("dtype")) s.out = DType::int64;
  } else if (is("mean")) {
    s.finish = Finish::mean;
    require(!whole(s.read), Code::dtype, "mean: {} has no mean of its own dtype; pass dtype=float32", to_string(x));
  } else if (is("amax") || is("amin")) {
    s.passes.first = is("amax") ? Fold::max : Fold::min;
    s.empty_is_error = true;
  } else if (is("max") || is("min")) {
    s.passes.first = is("max") ? Fold::max : Fold::min;
    s.empty_is_error = true;
  } else if (is("all") || is("any")) {
    s.passes.first = Fold::nonzero;
    s.finish = is("all") ? Finish::all : Finish::any;
    s.out = x.dtype == DType::uint8 ? DType::uint8 : DType::bool_;
  } else if (is("count_nonzero")) {
    s.passes.first = Fold::nonzero;
    s.out = DType::int64;
  } else if (is("logsumexp")) {
    if (whole(x.dtype)) s.read = s.out = DType::float32;
    set_log_sum_exp(s);
  } else if (is("linalg_vector_norm")) {
    require(is_floating(x.dtype), Code::dtype, "linalg_vector_norm: {} is not floating; convert it first",
            to_string(x));
    set_norm(s, a.scalar("ord").as_double());
  } else if (is("var") || is("std") || is("var_mean") || is("std_mean")) {
    require(is_floating(x.dtype), Code::dtype, "{}: {} is not floating; convert it first", op, to_string(x));
    s.passes = {Fold::sum, true, Fold::centred_square, Passes::Between::mean, 0};
    s.finish = is("var") || is("var_mean") ? Finish::variance : Finish::deviation;
    s.wants_mean = is("var_mean") || is("std_mean");
    s.correction = 1;
    if (has("unbiased")) s.correction = a.flag("unbiased") ? 1 : 0;
    if (has("correction") && a.has("correction")) s.correction = a.scalar("correction").as_double();
  } else if (is("reduce")) {
    const Ints axes = a.ints("axes");
    if (!axes.empty())
      s.over = dim_mask(axes, x.rank(), op);
    else if (a.flag("noop_with_empty_axes"))
      s.over.assign(s.over.size(), false);
    s.keepdim = a.flag("keepdims");
    set_onnx(s, a.text("kind"));
  } else if (is("global_pool")) {
    require(x.rank() >= 2 && is_floating(x.dtype), Code::shape,
            "global_pool: {} needs a batch and a channel dim and a floating dtype", to_string(x));
    s.over[0] = s.over[1] = false;
    s.keepdim = true;
    const std::string kind = a.text("kind");
    if (kind == "lp")
      set_norm(s, a.number("p"));
    else
      set_onnx(s, kind);
    s.empty_is_error = s.empty_is_error || kind == "max";
  } else {
    fail(Code::internal, "nbx defect: {} is no reduction", op);
  }

  if (s.empty_is_error) {
    for (size_t d = 0; d < s.over.size(); ++d)
      require(!s.over[d] || x.shape[d] != 0, Code::shape,
              "{}: dim {} of {} is empty and an empty set has no {}; leave the dim out", op, d, to_string(x), op);
  }
  return s;
}

namespace {

template <class A>
struct Job {
  ReductionSpec spec;
  Reducing loops;
  Source<A> source;
  Sink<Total<A>> sink, mean_sink;
  DType out;
  int operand;

  // max and min of nothing (ONNX allows it): the lowest or highest value of the dtype, which is narrower than the
  // total.
  Total<A> nothing() const {
    const bool high = spec.passes.first == Fold::min;
    if constexpr (std::is_floating_point_v<A>) return identity<A>(spec.passes.first);
    if (out == DType::bool_) return high;
    const int bits = itemsize(out) * 8;
    if (!info(out).is_signed)
      return static_cast<Total<A>>(high ? (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) : 0);
    const int64_t top = static_cast<int64_t>((~uint64_t{0}) >> (65 - bits));
    return static_cast<Total<A>>(high ? top : -top - 1);
  }

  void finish(Total<A>* t, const Total<A>* shift, int64_t n) const {
    using T = Total<A>;
    const double terms = static_cast<double>(loops.terms);
    const bool extreme = spec.passes.first == Fold::max || spec.passes.first == Fold::min;
    if (loops.terms == 0 && extreme && !spec.passes.two)
      for (int64_t i = 0; i < n; ++i) t[i] = nothing();
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < n; ++i) t[i] = static_cast<T>(f(t[i], shift ? shift[i] : T{0}));
    };
    switch (spec.finish) {
      case Finish::total:
        return;
      case Finish::all:
        return each([&](T v, T) { return v == static_cast<T>(loops.terms); });
      case Finish::any:
        return each([](T v, T) { return v != T{0}; });
      case Finish::mean:
        if constexpr (!std::is_floating_point_v<A>)
          return each([&](T v, T) { return loops.terms == 0 ? T{0} : v / static_cast<T>(loops.terms); });
        return each([&](T v, T) { return v / static_cast<T>(terms); });
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<A>) {
      switch (spec.finish) {
        case Finish::root:
          return each([](T v, T) { return std::sqrt(v); });
        case Finish::power_root:
          return each([&](T v, T) { return std::pow(v, 1 / spec.passes.q); });
        case Finish::log:
          return each([](T v, T) { return std::log(v); });
        case Finish::log_sum_exp:
          return each([](T v, T m) { return std::log(v) + m; });
        case Finish::variance:
        case Finish::deviation: {
          const double divisor = std::max(0.0, terms - spec.correction);
          each([&](T v, T mean) {
            // The deviations were taken from the mean as A holds it.
            const double off = mean - static_cast<double>(static_cast<A>(mean));
            const double exact = std::isfinite(off) ? std::max(0.0, v - terms * off * off) : v;
            const double variance = (v != v ? v : exact) / divisor;
            return spec.finish == Finish::deviation ? std::sqrt(variance) : variance;
          });
          return;
        }
        default:
          return;
      }
    }
  }

  void operator()(const Run& run) const {
    run_reduction<A>(loops, source, spec.passes, run.inputs[operand], run.workspace, run.team,
                     [&](int64_t first, int64_t n, Total<A>* totals, Total<A>* shifts) {
                       finish(totals, shifts, n);
                       sink.write(totals, n, run.outputs[0], first);
                       if (!spec.wants_mean) return;
                       // ATen's running mean meets inf - inf.
                       if (loops.terms > 1)
                         for (int64_t i = 0; i < n; ++i)
                           if (std::isinf(static_cast<double>(shifts[i])))
                             shifts[i] = std::numeric_limits<Total<A>>::quiet_NaN();
                       mean_sink.write(shifts, n, run.outputs[1], first);
                     });
  }
};

Reducing loops_of(const Args& a, const ReductionSpec& s) {
  const Meta& x = a.tensor("self");
  return reducing(x.shape, x.strides, s.over);
}

}  // namespace

int64_t reduction_bytes(const Args& a) { return reduction_workspace(loops_of(a, reduction_spec(a))); }

Bound bind_reduction(const Args& a, const Metas& outputs) {
  const ReductionSpec s = reduction_spec(a);
  const Meta& x = a.tensor("self");
  // all, any and counting look at the elements as they are stored; sums with a dtype convert first.
  const Arithmetic kind = arithmetic_of(s.read, a.op().c_str());
  return in_arithmetic(kind, [&](auto zero) -> Bound {
    using A = decltype(zero);
    const DType second = outputs.size() > 1 ? outputs[1].dtype : outputs[0].dtype;
    return Job<A>{s,     loops_of(a, s),   Source<A>(x.dtype), Sink<Total<A>>(outputs[0].dtype), Sink<Total<A>>(second),
                  s.out, a.operand("self")};
  });
}

}  // namespace nbx
