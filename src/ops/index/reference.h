// SPDX-License-Identifier: Apache-2.0
// Oracle of the scatter ops: a target that takes one source after the other.
#pragma once
#include <vector>

#include "ops/index/indices.h"

namespace nbx {

class Reference {
 public:
  struct Step {
    Reduce reduce = Reduce::assign;
    bool mean = false, include_self = true;
    double alpha = 1;
  };
  Reference(const Tensor& self, Step step);
  void put(int64_t place, const Tensor& source, int64_t at);
  void put(int64_t place, const Scalar& value);
  Tensor result() const;

 private:
  void put(int64_t place, double real, int64_t whole);
  Step step_;
  DType dtype_;
  Shape shape_;
  bool whole_;  // integers and bool are exact in int64
  std::vector<double> real_;
  std::vector<int64_t> ints_, counts_;
};

}  // namespace nbx
