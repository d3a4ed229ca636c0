// SPDX-License-Identifier: Apache-2.0
#include <nbx/version.h>

namespace nbx {

const char* version() { return NBX_VERSION; }

}  // namespace nbx
