// SPDX-License-Identifier: Apache-2.0
#include "io/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "io/npy.h"
#include "io/zip.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

std::string deflated(const std::string& data) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, data.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

struct Member {
  std::string name = "x.npy", packed;
  int method = 0;
  uint32_t crc = 0;
  int64_t size = 0, offset = -1;
  int flags = 0;
};

std::string archive(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& m : members) {
    const auto offset = m.offset >= 0 ? static_cast<uint64_t>(m.offset) : out.size();
    put(directory, 0x02014b50, 4);
    put(directory, 0, 4);
    put(directory, static_cast<uint64_t>(m.flags), 2);
    put(directory, static_cast<uint64_t>(m.method), 2);
    put(directory, 0, 4);
    put(directory, m.crc, 4);
    put(directory, m.packed.size(), 4);
    put(directory, static_cast<uint64_t>(m.size), 4);
    put(directory, m.name.size(), 2);
    directory += std::string(12, '\0');
    put(directory, offset, 4);
    directory += m.name;
    put(out, 0x04034b50, 4);
    out += std::string(22, '\0');
    put(out, m.name.size(), 2);
    put(out, 0, 2);
    out += m.name + m.packed;
  }
  const uint64_t begin = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

std::string npy_bytes(const Tensor& t) {
  std::string out = npy_header("t", t);
  return out + std::string(static_cast<const char*>(t.raw()), static_cast<size_t>(t.nbytes()));
}
Member member(const std::string& data, bool deflate) {
  Member m;
  m.packed = deflate ? deflated(data) : data;
  m.method = deflate ? 8 : 0;
  m.crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
  m.size = static_cast<int64_t>(data.size());
  return m;
}
NamedTensors parse(const std::string& bytes, const Limits& limits = {}) {
  return parse_npz(MappedFile::in_memory("a.npz", bytes), limits);
}
std::string refused(const std::string& bytes, const Limits& limits = {}) {
  const std::string text = error_text(Code::file, [&] { parse(bytes, limits); });
  EXPECT_NAMES(text, "a.npz");
  return text;
}

const Tensor kTensor = Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4});

TEST(Npz, TensorsComeBackInOrderWithTheSameBits) {
  const TempFolder folder;
  const NamedTensors tensors = {
      {"z", kTensor}, {"a/b", Tensor::of<double>({}, {0.5})}, {"e", Tensor::zeros({0}, DType::float32)}};
  write_npz(folder / "a.npz", tensors);
  const NamedTensors back = read_npz(folder / "a.npz");
  ASSERT_EQ(back.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back[i].first, tensors[i].first);
    EXPECT_TRUE(same_bits(back[i].second, tensors[i].second));
  }
}

TEST(Npz, EqualContentGivesEqualFiles) {
  const TempFolder folder;
  write_npz(folder / "a.npz", {{"a", kTensor}});
  write_npz(folder / "b.npz", {{"a", kTensor}});
  EXPECT_EQ(TempFolder::read(folder / "a.npz"), TempFolder::read(folder / "b.npz"));
}

TEST(Npz, StoredAndDeflatedMembersAreRead) {
  for (bool deflate : {false, true})
    EXPECT_TRUE(same_bits(parse(archive({member(npy_bytes(kTensor), deflate)})).at("x"), kTensor));
}

TEST(Npz, AFlippedBitOfAStoredMemberIsFoundByTheChecksum) {
  std::string bytes = archive({member(npy_bytes(kTensor), false)});
  bytes[30 + 5 + 128] ^= 1;
  EXPECT_NAMES(refused(bytes), "checksum");
}

TEST(Npz, ADeflatedMemberWithAWrongChecksumOrSizeIsRefused) {
  Member m = member(npy_bytes(kTensor), true);
  m.crc ^= 1;
  EXPECT_NAMES(refused(archive({m})), "checksum");
  m = member(npy_bytes(Tensor::zeros({3}, DType::int32)) + "more", true);
  m.size -= 4;
  EXPECT_NAMES(refused(archive({m})), "goes on");
  m = member(npy_bytes(kTensor).substr(0, 130), true);
  m.size = 144;
  EXPECT_NAMES(refused(archive({m})), "ends after 130");
  m = member(npy_bytes(kTensor), true);
  m.packed.resize(m.packed.size() / 2);
  EXPECT_NAMES(refused(archive({m})), "bad deflate data");
}

TEST(Npz, AClaimThatDeflateCannotReachIsRefusedBeforeAnythingIsAllocated) {
  Member m = member(npy_bytes(kTensor), true);
  m.size = 0xFFFFFFF0;
  EXPECT_NAMES(refused(archive({m})), "cannot unpack to 4294967280");
}

TEST(Npz, MembersThatUnpackToMoreThanTheLimitAreRefused) {
  Limits limits;
  limits.unpacked_bytes = 200;
  Member second = member(npy_bytes(kTensor), true);
  second.name = "y.npy";
  EXPECT_NAMES(refused(archive({member(npy_bytes(kTensor), true), second}), limits), "more than 200 bytes");
  second = member(npy_bytes(kTensor), false);
  second.name = "y.npy";
  EXPECT_EQ(parse(archive({member(npy_bytes(kTensor), true), second}), limits).size(),
            2u);  // stored bytes are not bounded
}

TEST(Npz, MembersThatShareBytesAreRefused) {
  Member second = member(npy_bytes(kTensor), false);
  second.name = "y.npy";
  second.offset = 0;
  EXPECT_NAMES(refused(archive({member(npy_bytes(kTensor), false), second})), "overlap");
}

TEST(Npz, WrongArchivesAreRefusedByName) {
  const std::string good = archive({member(npy_bytes(kTensor), false)});
  for (size_t cut : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1})
    EXPECT_NAMES(refused(good.substr(0, cut)), "no zip directory");
  Member m = member(npy_bytes(kTensor), false);
  m.name = "x.txt";
  EXPECT_NAMES(refused(archive({m})), "'x.txt' is no .npy");
  m = member(npy_bytes(kTensor), false);
  m.method = 12;
  EXPECT_NAMES(refused(archive({m})), "method 12");
  m.method = 0;
  m.flags = 1;
  EXPECT_NAMES(refused(archive({m})), "encrypted");
  m.flags = 0;
  m.offset = 5;
  EXPECT_NAMES(refused(archive({m})), "no local header");
  m.offset = 1 << 30;
  EXPECT_NAMES(refused(archive({m})), "outside the file");
  m.offset = -1;
  EXPECT_NAMES(refused(archive({m, m})), "twice");
  EXPECT_NAMES(refused(archive({member("no npy", false)})), "no npy array");
}

TEST(Npz, EveryCutOfAGoodFileIsAnErrorAndNoCrash) {
  const std::string good = archive({member(npy_bytes(kTensor), true)});
  for (size_t cut = 0; cut < good.size(); ++cut) refused(good.substr(0, cut));
}

}  // namespace
}  // namespace nbx
