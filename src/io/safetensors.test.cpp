// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

std::string file_of(const std::string& header, size_t data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + std::string(data, '\x01');
}
std::string one(const std::string& fields) { return "{\"a\":{" + fields + "}}"; }
Safetensors parse(const std::string& header, size_t data) {
  return parse_safetensors(MappedFile::in_memory("w.safetensors", file_of(header, data)));
}
std::string refused(const std::string& header, size_t data) {
  const std::string text = error_text(Code::file, [&] { parse(header, data); });
  EXPECT_NAMES(text, "w.safetensors");
  return text;
}

constexpr DType kCodes[] = {DType::float64, DType::float32, DType::float16, DType::bfloat16,      DType::int64,
                            DType::int32,   DType::int16,   DType::int8,    DType::uint8,         DType::bool_,
                            DType::uint16,  DType::uint32,  DType::uint64,  DType::float8_e4m3fn, DType::float8_e5m2};

TEST(Safetensors, EveryCodeAndEveryShapeKindComesBackWithTheSameBits) {
  const TempFolder folder;
  NamedTensors tensors;
  for (DType dtype : kCodes) {
    tensors.add(std::string(name(dtype)) + " 2-d", Tensor::full({3, 5}, 1, dtype));
    tensors.add(std::string(name(dtype)) + " 0-d", Tensor::full({}, 1, dtype));
    tensors.add(std::string(name(dtype)) + " empty", Tensor::zeros({2, 0, 3}, dtype));
  }
  write_safetensors(folder / "w.safetensors", tensors, {{"z", "\u00e4 \"quote\""}, {"a", ""}});
  const Safetensors back = read_safetensors(folder / "w.safetensors");
  ASSERT_EQ(back.tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].first, tensors[i].first);
    EXPECT_TRUE(same_bits(back.tensors[i].second, tensors[i].second)) << tensors[i].first;
  }
  const Metadata metadata = {{"z", "\u00e4 \"quote\""}, {"a", ""}};
  EXPECT_EQ(back.metadata, metadata);
}

TEST(Safetensors, AFileWithoutTensorsIsAllowed) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", {});
  EXPECT_TRUE(read_safetensors(folder / "w.safetensors").tensors.empty());
}

TEST(Safetensors, AReadTensorViewsTheMappedFileAndOutlivesTheReader) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", {{"a", Tensor::of<float>({2}, {1.5f, -2.f})}});
  const Tensor a = read_safetensors(folder / "w.safetensors").tensors.at("a");
  EXPECT_FALSE(a.storage()->writable());
  EXPECT_EQ(a.to_doubles(), (std::vector<double>{1.5, -2}));
}

TEST(Safetensors, ATensorWhoseDataIsNotAlignedIsReadToo) {
  const Safetensors file = parse(
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"I32","shape":[2],"data_offsets":[1,9]}})",
      9);
  EXPECT_EQ(file.tensors.at("a").to_ints(), (std::vector<int64_t>{0x01010101, 0x01010101}));
}

TEST(Safetensors, AStridedTensorIsWrittenRowByRow) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", {{"t", Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4}).transpose(0, 1)}});
  EXPECT_EQ(read_safetensors(folder / "w.safetensors").tensors.at("t").to_ints(), (std::vector<int64_t>{1, 3, 2, 4}));
}

TEST(Safetensors, DataIsOrderedByItemSizeSoThatEveryTensorIsAligned) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors",
                    {{"flag", Tensor::full({3}, 1, DType::bool_)}, {"x", Tensor::full({2}, 7, DType::float64)}});
  const Safetensors back = read_safetensors(folder / "w.safetensors");
  EXPECT_EQ(back.tensors[0].first, "flag");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back.tensors.at("x").raw()) % 8, 0u);
  EXPECT_FALSE(back.tensors.at("x").storage()->writable());  // a view, not a copy
}

TEST(Safetensors, AHeaderLongerThanTheFileOrTheBoundIsRefusedWithBothNumbers) {
  const auto refused_bytes = [](std::string bytes) {
    return error_text(Code::file, [&] { parse_safetensors(MappedFile::in_memory("w.safetensors", bytes)); });
  };
  EXPECT_NAMES(refused_bytes("abc"), "3 bytes");
  EXPECT_NAMES(refused_bytes(std::string("\x50\0\0\0\0\0\0\0{}", 10)), "80, the file has 10 bytes");
  EXPECT_NAMES(refused_bytes(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "100000000");
  EXPECT_NAMES(refused_bytes(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)), "100000001");
}

TEST(Safetensors, ADtypeWithoutACodeIsRefusedNamingTheKnownOnes) {
  const std::string text = refused(one(R"("dtype":"F4","shape":[2],"data_offsets":[0,1])"), 1);
  EXPECT_NAMES(text, "'a'");
  EXPECT_NAMES(text, "'F4'");
  EXPECT_NAMES(text, "BF16");
}

TEST(Safetensors, EachWrongFieldIsRefusedNamingTensorFieldAndValue) {
  EXPECT_NAMES(refused(one(R"("shape":[2],"data_offsets":[0,1])"), 1), "'dtype' is missing");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","data_offsets":[0,1])"), 1), "'shape' is missing");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1])"), 1), "'data_offsets' is missing");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])"), 1), "given twice");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1)"), 1), "unknown field 'x'");
  EXPECT_NAMES(refused(one(R"("dtype":3,"shape":[1],"data_offsets":[0,1])"), 1), "the number 3");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), 1), "1.5");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), 1), "an array");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":1,"data_offsets":[0,1])"), 1), "the number 1");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), 1), "negative extent -1");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1])"), 1),
               "99999999999999999999");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), 1), "1 numbers");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,2])"), 1), "the number 2");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])"), 1), "[-1, 0]");
  EXPECT_NAMES(refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), 1), "[1, 0]");
  EXPECT_NAMES(refused(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,1])"), 1), "needs 4 bytes");
}

TEST(Safetensors, AShapeWhoseBytesOverflowIsRefused) {
  EXPECT_NAMES(refused(one(R"("dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,1])"), 1), "2^63");
  EXPECT_NAMES(refused(one(R"("dtype":"F32","shape":[4611686018427387904,0,4],"data_offsets":[0,0])"), 0), "2^63");
}

TEST(Safetensors, OverlapsHolesAndEndsBeyondTheDataAreRefusedNamingTheTensor) {
  const auto two = [](const char* a, const char* b) {
    return std::string(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)") + a +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  EXPECT_NAMES(refused(two("[0,2]", "[1,3]"), 3), "inside tensor 'a'");
  EXPECT_NAMES(refused(two("[0,2]", "[3,5]"), 5), "bytes 2 to 3");
  EXPECT_NAMES(refused(two("[0,2]", "[2,4]"), 3), "tensor 'b'");
  EXPECT_NAMES(refused(two("[0,2]", "[2,4]"), 5), "the file has 5");
  EXPECT_EQ(parse(two("[2,4]", "[0,2]"), 4).tensors[0].first, "a");  // any order of the data is fine
}

TEST(Safetensors, ANameGivenTwiceIsRefused) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_NAMES(refused("{" + entry + "," + R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]})" + "}", 2),
               "'a' is used twice");
}

TEST(Safetensors, AHeaderThatIsNotThisFormIsRefused) {
  EXPECT_NAMES(refused("[1]", 0), "begin with '{'");
  EXPECT_NAMES(refused(R"({"a":1})", 0), "'a' is the number 1");
  EXPECT_NAMES(refused(R"({"a":{}} x)", 0), "'dtype' is missing");
  EXPECT_NAMES(refused(R"({"a)", 0), "not valid JSON");
  EXPECT_NAMES(refused(R"({} x)", 0), "not valid JSON");
  EXPECT_NAMES(refused("{\"\xff\":{}}", 0), "not valid JSON");
  EXPECT_NAMES(refused(R"({"__metadata__":{"a":1}})", 0), "must have texts");
  EXPECT_NAMES(refused(R"({"__metadata__":{},"__metadata__":{}})", 0), "twice");
  EXPECT_NAMES(refused("{" + std::string(100000, '['), 0), "not valid JSON");
}

TEST(Safetensors, MoreTensorsThanTheLimitAreRefused) {
  Limits limits;
  limits.tensors = 1;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  const std::string text = error_text(
      Code::file, [&] { parse_safetensors(MappedFile::in_memory("w.safetensors", file_of(header, 2)), limits); });
  EXPECT_NAMES(text, "more than 1 tensors");
}

TEST(Safetensors, WhatTheFormatCannotHoldIsRefusedAndTheOldFileStays) {
  const TempFolder folder;
  const std::string path = folder.write("w.safetensors", "old");
  EXPECT_NAMES(error_text(Code::dtype,
                          [&] {
                            write_safetensors(path, {{"a", Tensor::zeros({1}, DType::complex128)}});
                          }),
               "complex128");
  EXPECT_NAMES(error_text(Code::value,
                          [&] {
                            write_safetensors(path, {{"__metadata__", Tensor::zeros({1}, DType::int8)}});
                          }),
               "__metadata__");
  EXPECT_NAMES(error_text(Code::value,
                          [&] {
                            write_safetensors(path, {{"\xff", Tensor::zeros({1}, DType::int8)}});
                          }),
               "UTF-8");
  EXPECT_EQ(TempFolder::read(path), "old");
}

TEST(NamedTensors, AMissingNameIsAnErrorThatListsWhatIsThere) {
  const NamedTensors tensors = {{"a", Tensor::zeros({1}, DType::int8)}, {"b", Tensor::zeros({1}, DType::int8)}};
  EXPECT_NAMES(error_text(Code::value, [&] { tensors.at("c"); }), "'a', 'b'");
  EXPECT_NAMES(error_text(Code::value, [&] { NamedTensors(tensors).add("a", Tensor()); }), "'a' is used twice");
}

TEST(MappedFile, AMissingFileAFolderAndAPipeAreRefusedByName) {
  const TempFolder folder;
  EXPECT_NAMES(error_text(Code::file, [&] { MappedFile::open(folder / "none"); }), "none: cannot open");
  EXPECT_NAMES(error_text(Code::file, [&] { MappedFile::open(folder / "."); }), "folder");
  EXPECT_NAMES(error_text(Code::file, [&] { MappedFile::open("/dev/null"); }), "not a regular file");
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TempFolder folder;
  EXPECT_EQ(MappedFile::open(folder.write("e", ""))->size(), 0);
}

}  // namespace
}  // namespace nbx
