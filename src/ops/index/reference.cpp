// SPDX-License-Identifier: Apache-2.0
#include "ops/index/reference.h"

#include <cmath>

namespace nbx {

Reference::Reference(const Tensor& self, Step step)
    : step_(step), dtype_(self.dtype()), shape_(self.shape()), whole_(!is_floating(self.dtype())) {
  if (whole_)
    ints_ = self.to_ints();
  else
    real_ = self.to_doubles();
  counts_.assign(static_cast<size_t>(self.numel()), 0);
}

void Reference::put(int64_t place, const Tensor& source, int64_t at) {
  const Tensor one = source.view({source.numel()}).select(0, at);
  if (whole_)
    put(place, 0, one.item_int());
  else
    put(place, one.item(), 0);
}
void Reference::put(int64_t place, const Scalar& value) {
  put(place, value.as_double(), dtype_ == DType::bool_ ? value.as_double() != 0 : value.as_int());
}

void Reference::put(int64_t place, double real, int64_t whole) {
  const size_t p = static_cast<size_t>(place);
  const bool first = counts_[p]++ == 0 && !step_.include_self;
  const auto apply = [&](auto old, auto fresh, auto alpha) {
    using T = decltype(old);
    switch (step_.reduce) {
      case Reduce::assign:
        return fresh;
      case Reduce::add:
        return static_cast<T>((first ? T{} : old) + fresh * alpha);
      case Reduce::mul:
        return static_cast<T>((first ? T{1} : old) * fresh);
      case Reduce::max:
        return first || fresh > old || fresh != fresh ? fresh : old;
      default:
        return first || fresh < old || fresh != fresh ? fresh : old;
    }
  };
  if (whole_)
    ints_[p] = apply(ints_[p], whole, static_cast<int64_t>(step_.alpha));
  else
    real_[p] = apply(real_[p], real, step_.alpha);
}

Tensor Reference::result() const {
  std::vector<double> real = real_;
  std::vector<int64_t> ints = ints_;
  if (step_.mean)
    for (size_t p = 0; p < counts_.size(); ++p) {
      const int64_t n = counts_[p] + (step_.include_self ? 1 : 0);
      if (n < 2) continue;
      if (whole_)
        ints[p] = static_cast<int64_t>(std::floor(static_cast<double>(ints[p]) / static_cast<double>(n)));
      else
        real[p] /= static_cast<double>(n);
    }
  return whole_ ? Tensor::of<int64_t>(shape_, ints).to(dtype_) : Tensor::of<double>(shape_, real);
}

}  // namespace nbx
