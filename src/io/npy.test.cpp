// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

std::string npy(int version, const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}
Tensor parse(const std::string& bytes) { return parse_npy(MappedFile::in_memory("a.npy", bytes)); }
std::string refused(const std::string& bytes) {
  const std::string text = error_text(Code::file, [&] { parse(bytes); });
  EXPECT_NAMES(text, "a.npy");
  return text;
}
std::string refused_header(const std::string& header) { return refused(npy(1, header, std::string(4, '\0'))); }

TEST(Npy, EveryDtypeAndShapeKindComesBackWithTheSameBits) {
  const TempFolder folder;
  for (DType dtype : {DType::bool_, DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::uint16,
                      DType::uint32, DType::uint64, DType::float16, DType::bfloat16, DType::float32, DType::float64,
                      DType::complex64, DType::complex128})
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 5}, Shape{2, 0, 3}}) {
      const Tensor tensor = Tensor::full(shape, 1, dtype);
      write_npy(folder / "a.npy", tensor);
      EXPECT_TRUE(same_bits(read_npy(folder / "a.npy"), tensor)) << describe(tensor);
    }
}

TEST(Npy, VersionsOneToThreeAreRead) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  for (int version : {1, 2, 3})
    EXPECT_EQ(parse(npy(version, header, std::string("\1\0\2\0", 4))).to_ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_NAMES(refused(npy(4, header, "")), "version 4");
}

TEST(Npy, FortranOrderIsATransposedView) {
  const Tensor t = parse(npy(1, "{'descr':'|u1','fortran_order':True,'shape':(2,3)}", "\1\2\3\4\5\6"));
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.strides(), (Strides{1, 2}));
  EXPECT_EQ(t.to_ints(), (std::vector<int64_t>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, BigEndianDataIsSwapped) {
  EXPECT_EQ(parse(npy(1, "{'descr':'>i4','fortran_order':False,'shape':(1,)}", std::string("\0\0\1\2", 4))).item_int(),
            258);
  EXPECT_EQ(parse(npy(1, "{'descr':'>u1','fortran_order':False,'shape':(1,)}", "\7")).item_int(), 7);
}

TEST(Npy, TheHeaderFollowsTheFormThatNumpyWrites) {
  EXPECT_EQ(npy_header("x", Tensor::zeros({3}, DType::float32)).substr(10, 57),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(npy_header("x", Tensor::zeros({2, 3}, DType::bool_)).substr(10, 59),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(npy_header("x", Tensor::zeros({}, DType::bool_)).substr(10, 55),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(npy_header("x", Tensor::zeros({}, DType::bool_)).size() % 64, 0u);
}

TEST(Npy, DataThatIsShorterOrLongerThanTheShapeIsRefusedWithBothCounts) {
  const std::string header = "{'descr':'<i4','fortran_order':False,'shape':(2,)}";
  EXPECT_NAMES(refused(npy(1, header, "1234567")), "needs 8 bytes, 7 follow");
  EXPECT_NAMES(refused(npy(1, header, "123456789")), "needs 8 bytes, 9 follow");
}

TEST(Npy, AWrongHeaderIsRefusedNamingTheFieldAndTheValue) {
  EXPECT_NAMES(refused("PK"), "no npy array");
  EXPECT_NAMES(refused("\x93NUMPY\x01"), "no npy array");
  EXPECT_NAMES(refused(std::string("\x93NUMPY\x01\0\xff\x00{", 11)), "255, 1 bytes are there");
  EXPECT_NAMES(refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)), "4294967295");
  EXPECT_NAMES(refused_header(""), "no '{'");
  EXPECT_NAMES(refused_header("{'descr': '<i4'}"), "lacks the field fortran_order");
  EXPECT_NAMES(refused_header("{'descr': '<i4', 'descr': '<i4'}"), "'descr' twice");
  EXPECT_NAMES(refused_header("{'other': 3}"), "unknown field 'other'");
  EXPECT_NAMES(refused_header("{'descr': '|O'"), "pickle");
  EXPECT_NAMES(refused_header("{'descr': '<U4'"), "'<U4'");
  EXPECT_NAMES(refused_header("{'descr': ''"), "''");
  EXPECT_NAMES(refused_header("{'descr': '<f16'"), "'<f16'");
  EXPECT_NAMES(refused_header("{'descr': [('x', '<i4')]"), "records");
  EXPECT_NAMES(refused_header("{'fortran_order': Maybe"), "neither True nor False");
  EXPECT_NAMES(refused_header("{'shape': (-1,)"), "no extent >= 0");
  EXPECT_NAMES(refused_header("{'shape': (1 2)"), "no ','");
  EXPECT_NAMES(refused_header("{'shape': (3)"), "no tuple");
  EXPECT_NAMES(refused_header("{'shape': (99999999999999999999,)"), "99999999999999999999");
  EXPECT_NAMES(refused_header("{'shape': (1"), "its end");
  EXPECT_NAMES(refused_header("{'descr':'<i4','fortran_order':False,'shape':(1,)} ;"), "goes on");
  EXPECT_NAMES(refused_header("{'descr':'<i4','fortran_order':False,'shape':(4611686018427387904,2)}"), "2^63");
  EXPECT_NAMES(refused_header("{'shape': (" + std::string(26 * 2, '1').replace(1, 1, ",") + ")"), "2^63");
}

TEST(Npy, TheEightBitFloatsAreRefusedWithTheWayOut) {
  const TempFolder folder;
  EXPECT_NAMES(error_text(Code::dtype, [&] { write_npy(folder / "a.npy", Tensor::zeros({1}, DType::float8_e5m2)); }),
               "safetensors");
}

}  // namespace
}  // namespace nbx
