// SPDX-License-Identifier: Apache-2.0
// Tensors as text, character for character what NumPy's str() gives (precision 8 and 4 differ in the options only).
#include <fmt/format.h>
#include <nbx/tensor.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dtype/promotion.h"
#include "tensor/copy.h"
#include "tensor/number_text.h"

namespace nbx {
namespace {

// One element: `number` for floating and complex types, `bits` for the others (the value as 64 bits).
struct Cell {
  std::complex<double> number;
  uint64_t bits = 0;
};

Cell cell_at(const Tensor& t, int64_t offset) {
  const auto* address = static_cast<const std::byte*>(t.raw()) + offset * itemsize(t.dtype());
  Cell cell;
  const bool exact = is_integral(t.dtype(), true);
  auto* to = exact ? reinterpret_cast<std::byte*>(&cell.bits) : reinterpret_cast<std::byte*>(&cell.number);
  copy_run(t.dtype(), exact ? (info(t.dtype()).is_signed ? DType::int64 : DType::uint64) : DType::complex128)(
      address, 1, to, 1, 1);
  return cell;
}

using Format = std::function<std::string(const Cell&)>;

std::string right_aligned(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// The layout that all elements of one real column share.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& values, DType dtype, int precision, bool plus) : dtype_(dtype) {
    style_.precision = std::min(precision, 50);  // the longest shortest text has 17 digits
    style_.plus = plus;
    std::vector<double> finite;
    double largest = 0, smallest = INFINITY;
    bool negative_infinity = false;
    for (double v : values) {
      if (!std::isfinite(v)) {
        negative_infinity = negative_infinity || v < 0;
        continue;
      }
      finite.push_back(v);
      if (v == 0) continue;
      largest = std::max(largest, std::fabs(v));
      smallest = std::min(smallest, std::fabs(v));
    }
    scientific_ =
        largest > 0 && (largest >= scientific_from(dtype) || smallest < own(1e-4) || own(largest / smallest) > 1000);
    if (!finite.empty()) measure(finite);
    if (finite.size() != values.size()) {
      const size_t offset = right_ + 1, infinity = 3 + (plus || negative_infinity ? 1 : 0);
      left_ = std::max({left_, offset < 3 ? 3 - offset : 0, offset < infinity ? infinity - offset : 0});
    }
  }

  std::string operator()(double v) const {
    if (!std::isfinite(v)) {
      const char* sign = !std::isnan(v) && v < 0 ? "-" : style_.plus ? "+" : "";
      return right_aligned(std::string(sign) + (std::isnan(v) ? "nan" : "inf"), left_ + right_ + 1);
    }
    const std::string text = scientific_ ? scientific(v, dtype_, style_) : positional(v, dtype_, style_);
    const size_t point = text.find('.');
    std::string out = right_aligned(text, left_ + text.size() - point);
    if (!scientific_) out.append(right_ - (text.size() - point - 1), ' ');
    return out;
  }

 private:
  // Limits are compared in the element's own type.
  double own(double v) const {
    switch (dtype_) {
      case DType::float64:
        return v;
      case DType::float16:
        return to_float(to_float16(v));
      default:
        return static_cast<float>(v);
    }
  }

  void measure(const std::vector<double>& finite) {
    size_t exponent = 0;
    for (double v : finite) {
      const std::string text = scientific_ ? scientific(v, dtype_, style_) : positional(v, dtype_, style_);
      const size_t point = text.find('.'), e = scientific_ ? text.find('e') : text.size();
      left_ = std::max(left_, point);
      right_ = std::max(right_, e - point - 1);
      if (scientific_) exponent = std::max(exponent, text.size() - e - 2);
    }
    if (!scientific_) return;
    style_.precision = style_.min_digits = static_cast<int>(right_);
    style_.exp_digits = static_cast<int>(exponent);
    right_ += exponent + 2;
  }

  DType dtype_;
  NumberStyle style_;
  bool scientific_ = false;
  size_t left_ = 0;   // characters before the point
  size_t right_ = 0;  // after it
};

std::string integer_text(const Cell& cell, bool is_signed) {
  return is_signed ? std::to_string(static_cast<int64_t>(cell.bits)) : std::to_string(cell.bits);
}

Format format_of(DType dtype, const std::vector<Cell>& cells, const PrintOptions& options) {
  switch (category(dtype)) {
    case Category::boolean:
      return [](const Cell& cell) { return cell.bits ? " True" : "False"; };
    case Category::integral: {
      const bool is_signed = info(dtype).is_signed;
      size_t width = 0;
      for (const Cell& cell : cells) width = std::max(width, integer_text(cell, is_signed).size());
      return [=](const Cell& cell) { return right_aligned(integer_text(cell, is_signed), width); };
    }
    case Category::floating:
    case Category::complex:
      break;
  }
  std::vector<double> real, imag;
  for (const Cell& cell : cells) {
    real.push_back(cell.number.real());
    imag.push_back(cell.number.imag());
  }
  const DType part = real_part(dtype);
  const FloatFormat of_real(real, part, options.precision, false);
  if (!is_complex(dtype)) return [=](const Cell& cell) { return of_real(cell.number.real()); };
  const FloatFormat of_imag(imag, part, options.precision, true);
  return [=](const Cell& cell) {
    std::string text = of_imag(cell.number.imag());
    text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
    return of_real(cell.number.real()) + text;
  };
}

// A 0-d tensor is written as the number it holds, never cut.
std::string number_text(const Cell& cell, DType dtype) {
  switch (category(dtype)) {
    case Category::boolean:
      return cell.bits ? "True" : "False";
    case Category::integral:
      return integer_text(cell, info(dtype).is_signed);
    case Category::floating:
      return alone(cell.number.real(), dtype, true);
    case Category::complex:
      break;
  }
  const double real = cell.number.real(), imag = cell.number.imag();
  const DType part = real_part(dtype);
  const std::string tail = alone(imag, part, false) + "j";
  if (real == 0 && !std::signbit(real)) return tail;
  return "(" + alone(real, part, false) + (std::isnan(imag) || !std::signbit(imag) ? "+" : "") + tail + ")";
}

class Printer {
 public:
  Printer(const Tensor& tensor, const PrintOptions& options)
      : tensor_(tensor), edge_(std::max<int64_t>(options.edge, 1)), summarised_(tensor.numel() > options.threshold) {
    collect(0, 0);
    format_ = format_of(tensor.dtype(), cells_, options);
    width_ = options.width;
  }

  std::string text() const { return nested(0, 0, " ", width_); }

 private:
  bool cut(size_t d) const { return summarised_ && 2 * edge_ < tensor_.shape()[d]; }

  void collect(size_t d, int64_t offset) {
    if (d == tensor_.shape().size()) {
      cells_.push_back(cell_at(tensor_, offset));
      return;
    }
    const int64_t extent = tensor_.shape()[d], step = tensor_.strides()[d];
    for (int64_t i = 0; i < extent; ++i) {
      if (cut(d) && i == edge_) i = extent - edge_;
      if (i < extent) collect(d + 1, offset + i * step);
    }
  }

  std::string nested(size_t d, int64_t offset, const std::string& indent, int width) const {
    if (d == tensor_.shape().size()) return format_(cell_at(tensor_, offset));
    const bool row = d + 1 == tensor_.shape().size();
    const int64_t extent = tensor_.shape()[d], step = tensor_.strides()[d];
    const int64_t first = cut(d) ? edge_ : 0;          // elements before "..."
    const int64_t rest = cut(d) ? extent - edge_ : 0;  // where those after it begin
    const std::string inner = indent + " ";
    std::string text, line = indent;
    const auto add = [&](const std::string& word) {
      if (static_cast<int>(line.size() + word.size()) > width - 1 && line.size() > indent.size()) {
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += line + "\n";
        line = indent;
      }
      line += word;
    };
    const std::string gap(tensor_.shape().size() - d - 1, '\n');  // between blocks; none between elements
    const auto element = [&](int64_t i) {
      const std::string word = nested(d + 1, offset + i * step, inner, width - 1);
      if (!row) {
        text += indent + word + (i + 1 < extent ? gap : "");
      } else {
        add(word);
        if (i + 1 < extent) line += " ";
      }
    };
    for (int64_t i = 0; i < first; ++i) element(i);
    if (cut(d)) {
      if (row) {
        add("...");
        line += " ";
      } else {
        text += indent + "..." + gap;
      }
    }
    for (int64_t i = rest; i < extent; ++i) element(i);
    if (row) text += line;
    return "[" + text.substr(indent.size()) + "]";
  }

  const Tensor& tensor_;
  int64_t edge_;
  bool summarised_;
  int width_ = 0;
  std::vector<Cell> cells_;  // those shown
  Format format_;
};

}  // namespace

std::string describe(DType dtype, const Shape& shape) { return name(dtype) + to_string(shape); }

std::string describe(const Tensor& tensor) {
  return tensor.defined() ? describe(tensor.dtype(), tensor.shape()) : "undefined";
}

std::string to_string(const Tensor& tensor, const PrintOptions& options) {
  if (!tensor.defined()) return "undefined";
  if (tensor.numel() == 0) return "[]";
  if (tensor.rank() == 0) return number_text(cell_at(tensor, 0), tensor.dtype());
  return Printer(tensor, options).text();
}

}  // namespace nbx
