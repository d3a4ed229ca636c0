// SPDX-License-Identifier: Apache-2.0
// The oneDNN candidate of this family; only in builds with oneDNN.
#pragma once
#include "ops/matmul/product.h"

namespace nbx {

Serves onednn_serves(const Product& p);
Bound bind_onednn(const Product& p);

}  // namespace nbx
