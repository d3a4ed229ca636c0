// SPDX-License-Identifier: Apache-2.0
#include "random/philox.h"

#include <algorithm>
#include <cmath>

namespace nbx {

double normal_of(uint32_t first, uint32_t second) {
  const double u = std::max(1e-7, static_cast<double>(unit_of(first)));
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * static_cast<double>(unit_of(second)));
}

}  // namespace nbx
