// SPDX-License-Identifier: Apache-2.0
#include "shape/view_rule.h"

#include "base/check.h"
#include "base/checked.h"

namespace nbx {

std::optional<Strides> view_strides(const Shape& from, const Strides& strides, const Shape& to) {
  if (from == to) return strides;
  if (numel(from) == 0) return contiguous_strides(to);

  // From the last dim on: a run is a group of old dims that together step evenly; consecutive new dims must use up
  // exactly one run's elements before the next run begins. Dims of extent 1 join any run.
  Strides out(to.size(), 1);
  size_t next = to.size();  // new dims still to be placed
  const auto place = [&](int64_t run, int64_t step) {
    int64_t used = 1;
    while (next > 0 && (used < run || to[next - 1] == 1)) {
      out[--next] = used * step;
      used *= to[next];
    }
    return used == run;
  };

  int64_t run = 1, step = strides.empty() ? 1 : strides.back();
  for (size_t d = from.size(); d-- > 0;) {
    run *= from[d];
    const bool ends = d == 0 || (from[d - 1] != 1 && strides[d - 1] != run * step);
    if (!ends) continue;
    if (!place(run, step)) return std::nullopt;
    if (d > 0) {
      run = 1;
      step = strides[d - 1];
    }
  }
  return out;
}

Shape infer_shape(const Shape& wanted, int64_t elements, std::string_view what) {
  Shape out = wanted;
  int64_t known = 1, unknown = -1;
  bool fits = true;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == -1) {
      require(unknown < 0, Code::shape, "{}: shape {} has more than one -1; only one extent can be inferred", what,
              to_string(wanted));
      unknown = static_cast<int64_t>(d);
      continue;
    }
    require(wanted[d] >= 0, Code::shape, "{}: shape {} has a negative extent {} at dim {}", what, to_string(wanted),
            wanted[d], d);
    fits = fits && checked_mul(known, wanted[d], known);
  }
  for (int64_t extent : wanted)
    if (extent == 0) known = 0, fits = true;
  if (unknown >= 0) {
    require(known != 0, Code::shape, "{}: the -1 of shape {} cannot be inferred: the other extents have no elements",
            what, to_string(wanted));
    require(fits && elements % known == 0, Code::shape, "{}: {} elements do not divide into shape {}", what, elements,
            to_string(wanted));
    out[static_cast<size_t>(unknown)] = elements / known;
    return out;
  }
  require(fits && known == elements, Code::shape, "{}: shape {} does not hold {} elements", what, to_string(wanted),
          elements);
  return out;
}

}  // namespace nbx
