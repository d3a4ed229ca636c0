// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/dtype.h>

#include <set>
#include <string>

#include "dtype/promotion.h"
#include "support/error_text.h"

namespace nbx {
namespace {

TEST(DTypeTable, NamesCodesAndTagsAreDistinctAndParseBack) {
  std::set<std::string> names, codes, tags;
  int coded = 0;
  for (int i = 0; i < kDTypes; ++i) {
    const DTypeInfo& row = info(static_cast<DType>(i));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(tags.insert(row.tag).second) << row.tag;
    if (*row.safetensors) {
      ++coded;
      codes.insert(row.safetensors);
    }
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    EXPECT_EQ(parse_dtype(std::string("torch.") + row.name), row.dtype);
  }
  EXPECT_EQ(static_cast<int>(codes.size()), coded);
}

TEST(DTypeTable, SizesAreThoseOfTheStorageTypes) {
  EXPECT_EQ(itemsize(dtype_of<float16_t>::value), static_cast<int>(sizeof(float16_t)));
  EXPECT_EQ(itemsize(dtype_of<float8_e5m2_t>::value), static_cast<int>(sizeof(float8_e5m2_t)));
  EXPECT_EQ(itemsize(dtype_of<std::complex<double>>::value), static_cast<int>(sizeof(std::complex<double>)));
  EXPECT_EQ(itemsize(dtype_of<bool>::value), static_cast<int>(sizeof(bool)));
  EXPECT_EQ(itemsize(dtype_of<uint64_t>::value), static_cast<int>(sizeof(uint64_t)));
}

TEST(DTypeTable, AliasesMeanTheirTypes) {
  EXPECT_EQ(parse_dtype("half"), DType::float16);
  EXPECT_EQ(parse_dtype("float"), DType::float32);
  EXPECT_EQ(parse_dtype("torch.double"), DType::float64);
  EXPECT_EQ(parse_dtype("int"), DType::int32);
  EXPECT_EQ(parse_dtype("long"), DType::int64);
  EXPECT_EQ(parse_dtype("byte"), DType::uint8);
  EXPECT_EQ(parse_dtype("bf16"), DType::bfloat16);
  EXPECT_EQ(parse_dtype("bool"), DType::bool_);
}

TEST(DTypeTable, AnUnknownNameIsNamedBesideTheKnownOnes) {
  const std::string text = error_text(Code::dtype, [] { parse_dtype("float99"); });
  EXPECT_NAMES(text, "float99");
  EXPECT_NAMES(text, "bfloat16");
  EXPECT_NAMES(text, "half");
  error_text(Code::dtype, [] { parse_dtype(""); });
  error_text(Code::dtype, [] { parse_dtype("torch."); });
}

}  // namespace
}  // namespace nbx
