// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "ops/pool/pool/pool.h"

namespace nbx {
namespace {

struct Window {
  int64_t kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
};

// `in` + padding must hold a window; in ceil mode the last window starts inside the input or the padding before it.
int64_t windows(const std::string& op, const Meta& x, int64_t in, const Window& w, bool ceil) {
  const int64_t reach = w.dilation * (w.kernel - 1) + 1, room = in + w.before + w.after - reach;
  require(room >= 0, Code::shape,
          "{}: a window of {} (kernel {}, dilation {}) does not fit into {} padded by {} and {} (input: {})", op, reach,
          w.kernel, w.dilation, in, w.before, w.after, to_string(x));
  int64_t out = room / w.stride + 1;
  if (ceil && room % w.stride != 0 && out * w.stride < in + w.before) ++out;
  return out;
}

PoolAxis regular_axis(int64_t in, int64_t out, const Window& w) {
  PoolAxis a;
  a.in = in;
  a.out = out;
  a.step = w.dilation;
  a.kernel = w.kernel;
  a.stride = w.stride;
  a.pad = w.before;
  a.regular = true;
  a.first.clear();
  a.taps.clear();
  a.cover.clear();
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * w.stride - w.before;
    // The first tap at or after 0, the first one at or after the end (of the input, and of the padded input).
    const auto taps_before = [&](int64_t end) {
      return end <= start ? 0 : std::min(w.kernel, (end - start + w.dilation - 1) / w.dilation);
    };
    const int64_t skipped = start < 0 ? std::min(w.kernel, (-start + w.dilation - 1) / w.dilation) : 0;
    a.first.push_back(start + skipped * w.dilation);
    a.taps.push_back(std::max<int64_t>(0, taps_before(in) - skipped));
    a.cover.push_back(taps_before(in + w.after));
  }
  return a;
}

PoolAxis adaptive_axis(int64_t in, int64_t out) {
  PoolAxis a;
  a.in = in;
  a.out = out;
  a.first.clear();
  a.taps.clear();
  a.cover.clear();
  for (int64_t o = 0; o < out; ++o) {
    const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    a.first.push_back(begin);
    a.taps.push_back(end - begin);
    a.cover.push_back(end - begin);
  }
  return a;
}

}  // namespace

PoolSpec pool_spec(const Args& a) {
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  const Meta& x = a.tensor("self");
  require(!is_complex(x.dtype) && x.dtype != DType::bool_, Code::dtype, "{}: {} is not supported; convert it first", op,
          to_string(x));
  const bool onnx = a.schema().space == "custom", adaptive = has("output_size");
  PoolSpec s;
  if (op.find("avg") != std::string::npos) s.kind = PoolKind::average;
  if (onnx && has("kind")) {
    const std::string kind = a.text("kind");
    require(kind == "max" || kind == "average" || kind == "lp", Code::value,
            "{}: kind '{}' is not known; use max, average or lp", op, kind);
    s.kind = kind == "max" ? PoolKind::max : kind == "average" ? PoolKind::average : PoolKind::lp;
    s.p = a.number("p");
  }
  if (a.schema().returns.size() > 1)
    s.indices = !onnx                             ? PoolIndices::plane
                : a.integer("storage_order") != 0 ? PoolIndices::whole_column_major
                                                  : PoolIndices::whole;
  s.count_padding = has("count_include_pad") && a.flag("count_include_pad");
  if (has("divisor_override") && a.has("divisor_override")) {
    s.divisor = a.integer("divisor_override");
    require(s.divisor != 0, Code::value, "{}: divisor_override is 0; leave it out or pass another number", op);
  }

  const Ints sizes = a.ints(adaptive ? "output_size" : onnx ? "kernel_shape" : "kernel_size");
  s.spatial = static_cast<int>(sizes.size());
  if (!onnx) s.spatial = op.find("1d") != std::string::npos ? 1 : op.find("2d") != std::string::npos ? 2 : 3;
  require(s.spatial >= 1 && s.spatial <= 3 && static_cast<int>(sizes.size()) == s.spatial, Code::value,
          "{}: {} spatial dims ({}); 1 to 3 are supported", op, sizes.size(), to_string(sizes));
  const int64_t lead = x.rank() - s.spatial;
  require(onnx ? lead >= 1 : lead == 1 || lead == 2, Code::shape,
          "{}: input is {}; it needs {} spatial dims after batch and channels", op, to_string(x), s.spatial);
  for (int64_t d = 0; d < lead; ++d) s.planes *= x.shape[static_cast<size_t>(d)];
  s.out_shape = Shape(x.shape.begin(), x.shape.begin() + lead);

  // One value an axis; empty: the fallback.
  const auto list = [&](const char* param, int64_t fallback, size_t count) {
    Ints v = has(param) ? a.ints(param) : Ints{};
    if (v.size() == 1 && count > 1 && !onnx) v = Ints(count, v[0]);
    if (v.empty()) return Ints(count, fallback);
    require(v.size() == count, Code::value, "{}: {} is {}; {} values are needed", op, param, to_string(v), count);
    return v;
  };
  const auto spatial = static_cast<size_t>(s.spatial);
  const bool stride_given = has("stride") && !a.ints("stride").empty();
  Ints strides = list(onnx ? "strides" : "stride", onnx ? 1 : 0, spatial);
  const Ints dilations = list(onnx ? "dilations" : "dilation", 1, spatial),
             pads = list(onnx ? "pads" : "padding", 0, onnx ? 2 * spatial : spatial);
  const std::string same = onnx ? a.text("auto_pad") : "NOTSET";
  require(same == "NOTSET" || same == "VALID" || same == "SAME_UPPER" || same == "SAME_LOWER" || same.empty(),
          Code::value, "{}: auto_pad is '{}'; use NOTSET, VALID, SAME_UPPER or SAME_LOWER", op, same);
  const bool ceil = has("ceil_mode") && a.flag("ceil_mode");

  int64_t volume = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = x.shape[static_cast<size_t>(lead) + i];
    PoolAxis& axis = s.axes[3 - spatial + i];
    if (adaptive) {
      require(sizes[i] >= 0, Code::value, "{}: output_size is {}; it cannot be negative", op, to_string(sizes));
      require(in > 0 || sizes[i] == 0, Code::shape, "{}: input is {}; a spatial dim is empty", op, to_string(x));
      axis = adaptive_axis(in, sizes[i]);
    } else {
      Window w{sizes[i], strides[i], pads[i], onnx ? pads[i + spatial] : pads[i], dilations[i]};
      if (!onnx && !stride_given) w.stride = w.kernel;  // ATen: no stride means the kernel's size
      require(w.kernel > 0 && w.stride > 0 && w.dilation > 0, Code::value,
              "{}: kernel {}, stride {} and dilation {} must be positive", op, w.kernel, w.stride, w.dilation);
      require(w.before >= 0 && w.after >= 0, Code::value, "{}: padding {} and {} cannot be negative", op, w.before,
              w.after);
      // Sums and products of two of these stay far from 2^63.
      constexpr int64_t kMost = (int64_t{1} << 31) - 1;
      require(w.kernel <= kMost && w.stride <= kMost && w.dilation <= kMost && w.before <= kMost && w.after <= kMost,
              Code::value, "{}: kernel {}, stride {}, dilation {}, padding {} and {}: each can be {} at most", op,
              w.kernel, w.stride, w.dilation, w.before, w.after, kMost);
      require(checked_mul(volume, w.kernel, volume), Code::value, "{}: a window of {} has more than 2^63 elements", op,
              to_string(sizes));
      require(onnx || 2 * w.before <= w.dilation * (w.kernel - 1) + 1, Code::value,
              "{}: padding {} is more than half of the window (kernel {}, dilation {})", op, w.before, w.kernel,
              w.dilation);
      int64_t out;
      if (same == "VALID") w.before = w.after = 0;
      if (same == "SAME_UPPER" || same == "SAME_LOWER") {
        out = (in + w.stride - 1) / w.stride;
        const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride + w.dilation * (w.kernel - 1) + 1 - in);
        w.before = same == "SAME_UPPER" ? total / 2 : total - total / 2;
        w.after = total - w.before;
      } else {
        out = windows(op, x, in, w, ceil);
      }
      axis = regular_axis(in, out, w);
    }
    s.out_shape.push_back(axis.out);
  }
  return s;
}

}  // namespace nbx
