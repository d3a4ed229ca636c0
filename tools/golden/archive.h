// SPDX-License-Identifier: Apache-2.0
// One member of a tar archive, plain or gzip: "archive.tar.gz!tmp/export/enc.onnx".
#pragma once
#include <string>

#include "io/mapped_file.h"

namespace nbx {

// The member's bytes under the name "PATH!MEMBER". Names may be in the ustar, GNU or pax form; a leading "./" does not
// count. Errors (file): no such file or member, a damaged archive, a member that is no regular file, more than `limit`
// bytes to unpack.
FileBytes read_tar_member(const std::string& path, const std::string& member, int64_t limit = int64_t{1} << 30);

}  // namespace nbx
