// SPDX-License-Identifier: Apache-2.0
// The steady state of real models allocates nothing: every operator new of the process is counted.
#include <gtest/gtest.h>
#include <nbx/session.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "ops/sample.h"
#include "support/counted_new.h"

namespace nbx {
namespace {

struct Case {
  const char* path;
  std::vector<std::pair<DType, Shape>> inputs;
};

// Extents where the model leaves them free; values do not matter here.
const Case kCases[] = {
    {"magika/models/standard_v3_3/model.onnx", {{DType::int32, {2, 2048}}}},
    {"basic_pitch/saved_models/icassp_2022/nmp.onnx", {{DType::float32, {1, 43844, 1}}}},
    {"rapidocr/models/PP-OCRv6_det_small.onnx", {{DType::float32, {1, 3, 96, 96}}}},
    {"rapidocr/models/PP-OCRv6_rec_small.onnx", {{DType::float32, {1, 3, 48, 96}}}},
    {"rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", {{DType::float32, {1, 3, 48, 192}}}},
    {"rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {{DType::float32, {1, 3, 96, 96}}}},
    {"rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {{DType::float32, {1, 3, 48, 96}}}},
    {"silero_vad/data/silero_vad.onnx",
     {{DType::float32, {1, 576}}, {DType::float32, {2, 1, 128}}, {DType::int64, {}}}},
    {"silero_vad/data/silero_vad_16k_sequence.onnx",
     {{DType::float32, {9, 576}}, {DType::float32, {1, 1, 128}}, {DType::float32, {1, 1, 128}}}},
};

class SteadyState : public testing::TestWithParam<Case> {};

TEST_P(SteadyState, AllocatesNothing) {
  const std::string path = std::string(NBX_SOURCE_DIR "/.models/") + GetParam().path;
  struct stat s;
  const char* required = std::getenv("NBX_REQUIRE_MODELS");  // as for the tests models-*
  if (stat(path.c_str(), &s) != 0 && required && std::string(required) == "1")
    FAIL() << "the model package is not installed: " << path;
  if (stat(path.c_str(), &s) != 0)
    GTEST_SKIP() << "the model package is not installed: " << path;  // ./nbx-dev test installs it
  Session session(Model::load(path), {.threads = 2});
  std::vector<Tensor> inputs, outputs;
  for (const auto& [dtype, shape] : GetParam().inputs) {
    if (dtype == DType::float32)
      inputs.push_back(randn(shape));
    else if (dtype == DType::int64)
      inputs.push_back(Tensor::full(shape, 16000, dtype));
    else
      inputs.push_back(rand_ints(shape, 0, 256, dtype));
  }
  for (int i = 0; i < 3; ++i) session.run(inputs, outputs);
  const int64_t before = allocations();
  for (int i = 0; i < 4; ++i) session.run(inputs, outputs);
  EXPECT_EQ(allocations() - before, 0) << path;
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyState, testing::ValuesIn(kCases));

}  // namespace
}  // namespace nbx
