// SPDX-License-Identifier: Apache-2.0
#include "io/npz.h"

#include <algorithm>

#include "base/check.h"
#include "base/function_ref.h"
#include "io/npy.h"
#include "io/quote.h"
#include "io/zip.h"

namespace nbx {
namespace {

constexpr std::string_view kSuffix = ".npy";

Tensor member_tensor(const FileBytes& file, const ZipMember& member, const Limits& limits,
                     FunctionRef<bool(const NpyHeader&)> wanted) {
  const std::string where = fmt::format("{}: member {}", file->path(), quote(member.name));
  if (!member.deflated) {
    check_stored(file, member);
    const auto bytes = file->bytes().subspan(static_cast<size_t>(member.begin), static_cast<size_t>(member.size));
    const NpyHeader header = parse_npy_header(where, bytes, member.size, limits);
    if (!wanted(header)) return Tensor::empty({0}, header.dtype);
    const int64_t count = header.data_bytes / itemsize(header.dtype);
    return arrange_npy(header, file->tensor(member.begin + header.data_begin, {count}, header.dtype));
  }
  // The header first: only what it describes is allocated.
  std::vector<std::byte> head(static_cast<size_t>(std::min(member.size, limits.npy_header_bytes + 12)));
  unpack_begin(file, member, head);
  const NpyHeader header = parse_npy_header(where, head, member.size, limits);
  if (!wanted(header)) return Tensor::empty({0}, header.dtype);
  Tensor flat = Tensor::empty({header.data_bytes / itemsize(header.dtype)}, header.dtype);
  unpack(file, member, header.data_begin, static_cast<std::byte*>(flat.raw_mutable()));
  return arrange_npy(header, flat);
}

}  // namespace

NamedTensors parse_npz(const FileBytes& file, const Limits& limits, const WantMember& want) {
  NamedTensors out;
  const std::vector<ZipMember> members = read_zip(file, limits);
  for (const ZipMember& member : members) {
    const std::string_view name = member.name;
    require(name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix, Code::file,
            "{}: member {} is no .npy array", file->path(), quote(name));
    const std::string key(name.substr(0, name.size() - kSuffix.size()));
    out.add(key, member_tensor(file, member, limits, [&](const NpyHeader& header) {
              return !want || want(key, header.dtype, header.shape, members.size());
            }));
  }
  return out;
}

NamedTensors read_npz(const std::string& path, const Limits& limits, const WantMember& want) {
  return parse_npz(MappedFile::open(path), limits, want);
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  ZipWriter zip(path);
  for (const auto& [name, tensor] : tensors) {
    const std::string where = fmt::format("{}: tensor {}", path, quote(name));
    require(!name.empty() && name.size() <= 60'000, Code::value, "{}: a name in a zip archive has 1 to 60000 bytes",
            where);
    const std::string header = npy_header(where, tensor);
    const Tensor dense = tensor.contiguous();
    zip.add(name + std::string(kSuffix), header, dense.nbytes() > 0 ? dense.raw() : nullptr,
            static_cast<size_t>(dense.nbytes()));
  }
  zip.commit();
}

}  // namespace nbx
