// SPDX-License-Identifier: Apache-2.0
#include "golden/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

std::string entry(const std::string& name, const std::string& data, char type = '0') {
  std::string h(512, '\0');
  const auto put = [&](size_t at, const std::string& text) { h.replace(at, text.size(), text); };
  put(0, name);
  put(124, fmt::format("{:011o}", data.size()));
  put(156, std::string(1, type));
  put(257, std::string("ustar\00000", 8));
  put(148, "        ");
  int sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return h + data + std::string((512 - data.size() % 512) % 512, '\0');
}
const std::string kEnd(1024, '\0');

std::string content(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file->data()), static_cast<size_t>(file->size())};
}

class Archive : public testing::Test {
 protected:
  std::string write(const std::string& bytes, bool gzip = true) {
    const std::string path = folder_ / (gzip ? "a.tar.gz" : "a.tar");
    if (!gzip) {
      std::ofstream(path, std::ios::binary) << bytes;
      return path;
    }
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  TempFolder folder_;
};

TEST_F(Archive, GivesAMemberOfAPackedAndOfAPlainArchive) {
  const std::string tar =
      entry("tmp/", "", '5') + entry("./tmp/a.bin", "first") + entry("tmp/b.bin", std::string(3000, 'x')) + kEnd;
  for (const bool gzip : {true, false}) {
    const std::string path = write(tar, gzip);
    EXPECT_EQ(content(read_tar_member(path, "tmp/a.bin")), "first");
    EXPECT_EQ(content(read_tar_member(path, "tmp/b.bin")), std::string(3000, 'x'));
  }
}

TEST_F(Archive, ReadsLongNamesOfBothForms) {
  const std::string gnu(200, 'g'), pax(300, 'p');
  const std::string path =
      write(entry("././@LongLink", gnu + std::string(1, '\0'), 'L') + entry("cut", "1") +
            entry("PaxHeaders/x", "310 path=" + pax + "\n", 'x') + entry("cut", "2") + entry("cut", "3") + kEnd);
  EXPECT_EQ(content(read_tar_member(path, gnu)), "1");
  EXPECT_EQ(content(read_tar_member(path, pax)), "2");
  EXPECT_EQ(content(read_tar_member(path, "cut")), "3");
}

TEST_F(Archive, SaysWhatIsWrongWithABadOne) {
  const auto text = [&](const std::string& path, const char* member = "a", int64_t limit = 1 << 20) {
    return error_text(Code::file, [&] { read_tar_member(path, member, limit); });
  };
  EXPECT_NAMES(text("/nowhere/a.tar"), "cannot be read");
  EXPECT_NAMES(text(write(entry("b", "1") + kEnd)), "has no member 'a'");
  EXPECT_NAMES(text(write(entry("a", "", '5') + kEnd)), "no regular file");
  EXPECT_NAMES(text(write(entry("a", std::string(5000, 'x')).substr(0, 2000))), "ends in the middle");
  EXPECT_NAMES(text(write(entry("a", std::string(5000, 'x')) + kEnd), "a", 3000), "5000");
  EXPECT_NAMES(text(write(entry("b", std::string(5000, 'x')) + kEnd), "a", 3000), "more than 3000");
  std::string flipped = entry("a", "1") + kEnd;
  flipped[3] = 'z';
  EXPECT_NAMES(text(write(flipped)), "sum");
  EXPECT_NAMES(text(write(std::string(600, 'q'))), "damaged");
}

TEST_F(Archive, RefusesATruncatedGzipFile) {
  std::string noise(20000, '\0');
  uint32_t x = 1;
  for (char& c : noise) c = static_cast<char>((x = x * 1664525u + 1013904223u) >> 24);
  const std::string path = write(entry("a", noise) + kEnd);
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_FALSE(error_text(Code::file, [&] { read_tar_member(path, "a"); }).empty());
}

}  // namespace
}  // namespace nbx
