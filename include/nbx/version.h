// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nbx {

// The version of the library that is linked, "major.minor.patch".
const char* version();

}  // namespace nbx
