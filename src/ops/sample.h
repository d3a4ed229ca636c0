// SPDX-License-Identifier: Apache-2.0
// The inputs that prove an op: the suite runs every sample x dtype x kernel x CPU target x thread count against the
// oracle.
#pragma once
#include <nbx/tensor.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ops/value.h"

namespace nbx {

// An argument of a sample: a tensor, a list of tensors (undefined entries are None) or a value.
using SampleArg = std::variant<Value, Tensor, std::vector<Tensor>>;
using SampleArgs = std::vector<SampleArg>;
using SampleKeywords = std::vector<std::pair<std::string, SampleArg>>;

struct Sample {
  SampleArgs args = {};
  SampleKeywords keywords = {};
  bool float32_only = false;  // not repeated in the op's other dtypes
  bool is_error = false;      // must fail with `code`, and the text must contain each of `names`
  Code code = Code::value;
  std::vector<std::string> names = {};
};

class SampleSink {
 public:
  // float32 tensors are converted to each dtype the declaration lists; other dtypes stay.
  void add(SampleArgs args, SampleKeywords keywords = {}) {
    samples_.push_back({std::move(args), std::move(keywords)});
  }
  void add_as_is(SampleArgs args, SampleKeywords keywords = {}) {
    samples_.push_back({std::move(args), std::move(keywords), true});
  }
  void error(Code code, std::vector<std::string> names, SampleArgs args, SampleKeywords keywords = {}) {
    samples_.push_back({std::move(args), std::move(keywords), true, true, code, std::move(names)});
  }
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
};

// Deterministic tensors for samples (a fixed generator; the seed follows from shape and `seed`).
Tensor randn(const Shape& shape, uint64_t seed = 0);                                  // float32
Tensor rand_uniform(const Shape& shape, double low, double high, uint64_t seed = 0);  // float32
Tensor rand_ints(const Shape& shape, int64_t low, int64_t high, DType dtype = DType::int64,
                 uint64_t seed = 0);  // [low, high)
Tensor special_floats();              // float32 [n]: nan, ±inf, ±0, subnormals, extremes, around 1
// The same elements in a layout that is not contiguous: a transposed copy seen back, or every second element of a
// larger one.
Tensor strided(const Tensor& tensor);
Tensor spaced(const Tensor& tensor);

// Shorthands so that samples read well: ints({1, 2}), none, true, 1.5, std::string("mean").
inline SampleArg ints(Ints values) { return Value(std::move(values)); }
inline const SampleArg none{Value(None{})};
inline SampleArg val(int64_t v) { return Value(v); }
inline SampleArg val(int v) { return Value(static_cast<int64_t>(v)); }
inline SampleArg val(double v) { return Value(v); }
inline SampleArg val(bool v) { return Value(v); }
inline SampleArg val(const char* v) { return Value(std::string(v)); }
inline SampleArg val(DType v) { return Value(v); }

}  // namespace nbx
