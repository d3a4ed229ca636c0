// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/c_api.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

const std::string kModel = std::string(NBX_SOURCE_DIR) + "/tests/package/model.json";  // y = relu(x), float32[2, 3]

struct CApi : testing::Test {
  nbx_model* model = nullptr;
  nbx_session* session = nullptr;
  nbx_result* result = nullptr;
  std::vector<float> x{-1, 2, -3, 4, 0, 6};
  std::vector<int64_t> dims{2, 3};
  nbx_tensor input{};

  void SetUp() override {
    ASSERT_EQ(nbx_model_load(kModel.c_str(), &model), NBX_OK) << nbx_last_error();
    ASSERT_EQ(nbx_session_new(model, nullptr, &session), NBX_OK) << nbx_last_error();
    input = {"x", x.data(), 24, NBX_FLOAT32, 2, dims.data()};
  }
  void TearDown() override {
    nbx_result_free(result);
    nbx_session_free(session);
    nbx_model_free(model);
  }
  std::vector<float> output() const {
    nbx_tensor t{};
    EXPECT_EQ(nbx_result_output(result, 0, &t), NBX_OK);
    std::vector<float> out(t.bytes / sizeof(float));
    std::memcpy(out.data(), t.data, t.bytes);
    return out;
  }
  void refused(nbx_status status, const char* part) {
    EXPECT_EQ(nbx_session_run(session, &input, 1, &result), status);
    EXPECT_NE(std::string(nbx_last_error()).find(part), std::string::npos) << nbx_last_error();
    EXPECT_EQ(result, nullptr);
  }
};

TEST_F(CApi, AModelTellsItsInputsAndOutputs) {
  ASSERT_EQ(nbx_model_input_count(model), 1u);
  ASSERT_EQ(nbx_model_output_count(model), 1u);
  nbx_value_info info{};
  ASSERT_EQ(nbx_model_input(model, 0, &info), NBX_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, NBX_FLOAT32);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], 2);
  EXPECT_EQ(info.dims[1], 3);
  ASSERT_EQ(nbx_model_output(model, 0, &info), NBX_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(nbx_model_input(model, 1, &info), NBX_ERROR_INDEX);
}

TEST_F(CApi, ARunGivesTheAnswerAndAReusedResultKeepsItsMemory) {
  ASSERT_EQ(nbx_session_run(session, &input, 1, &result), NBX_OK) << nbx_last_error();
  EXPECT_EQ(output(), (std::vector<float>{0, 2, 0, 4, 0, 6}));
  nbx_tensor before{}, after{};
  ASSERT_EQ(nbx_result_output(result, 0, &before), NBX_OK);
  x[0] = 5;
  nbx_result* same = result;
  ASSERT_EQ(nbx_session_run(session, &input, 1, &result), NBX_OK) << nbx_last_error();
  EXPECT_EQ(result, same);
  ASSERT_EQ(nbx_result_output(result, 0, &after), NBX_OK);
  EXPECT_EQ(before.data, after.data);
  EXPECT_EQ(output()[0], 5);
}

TEST_F(CApi, ASessionAndAResultOutliveTheirModel) {
  nbx_model_free(model);
  model = nullptr;
  ASSERT_EQ(nbx_session_run(session, &input, 1, &result), NBX_OK);
  nbx_session_free(session);
  session = nullptr;
  EXPECT_EQ(output()[1], 2);
}

TEST_F(CApi, BadInputsAreRefusedByName) {
  const nbx_tensor good = input;
  input.bytes = 20;
  refused(NBX_ERROR_SHAPE, "20 bytes are given");
  input = good;
  input.dtype = 99;
  refused(NBX_ERROR_DTYPE, "99");
  input = good;
  input.name = "z";
  refused(NBX_ERROR_VALUE, "no input 'z'");
  input = good;
  input.name = nullptr;
  refused(NBX_ERROR_VALUE, "no name");
  input = good;
  input.data = nullptr;
  refused(NBX_ERROR_VALUE, "data is NULL");
  input = good;
  input.data = reinterpret_cast<const char*>(x.data()) + 1;
  refused(NBX_ERROR_VALUE, "aligned");
  input = good;
  input.rank = -2;
  refused(NBX_ERROR_SHAPE, "rank -2");
  input = good;
  std::vector<int64_t> huge{int64_t{1} << 40, int64_t{1} << 40};
  input.dims = huge.data();
  refused(NBX_ERROR_SHAPE, "more than 2^63");
  input = good;
  std::vector<int64_t> wrong{3, 2};
  input.dims = wrong.data();
  refused(NBX_ERROR_SHAPE, "the model wants");
  EXPECT_EQ(nbx_session_run(session, nullptr, 0, &result), NBX_ERROR_VALUE);
  const nbx_tensor twice[] = {good, good};
  EXPECT_EQ(nbx_session_run(session, twice, 2, &result), NBX_ERROR_VALUE);
}

TEST_F(CApi, AMissingFileIsAnErrorThatNamesItAndLeavesTheHandleAlone) {
  nbx_model* none = nullptr;
  EXPECT_EQ(nbx_model_load("/no/such/model.onnx", &none), NBX_ERROR_FILE);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::strstr(nbx_last_error(), "/no/such/model.onnx"), nullptr);
  EXPECT_EQ(nbx_model_load(nullptr, &none), NBX_ERROR_VALUE);
}

TEST_F(CApi, ErrorsBelongToTheirThread) {
  EXPECT_EQ(nbx_model_load("/no/such/a.onnx", &model), NBX_ERROR_FILE);
  std::string other = "unset";
  std::thread([&] { other = nbx_last_error(); }).join();
  EXPECT_EQ(other, "");
}

TEST_F(CApi, OptionsAndStatsGrowBySize) {
  nbx_session* s = nullptr;
  nbx_session_options options{};
  EXPECT_EQ(nbx_session_new(model, &options, &s), NBX_ERROR_VALUE);  // size not set
  options.size = sizeof(options);
  options.threads = -1;
  EXPECT_EQ(nbx_session_new(model, &options, &s), NBX_ERROR_VALUE);
  options.threads = 1;
  ASSERT_EQ(nbx_session_new(model, &options, &s), NBX_OK);
  nbx_session_free(s);
  nbx_session_stats stats{};
  stats.size = offsetof(nbx_session_stats, programs);  // an older caller
  stats.programs = 77;
  ASSERT_EQ(nbx_session_run(session, &input, 1, &result), NBX_OK);
  ASSERT_EQ(nbx_session_get_stats(session, &stats), NBX_OK);
  EXPECT_EQ(stats.programs, 77);
  stats.size = sizeof(stats);
  ASSERT_EQ(nbx_session_get_stats(session, &stats), NBX_OK);
  EXPECT_EQ(stats.programs, 1);
  EXPECT_EQ(stats.runs, 1);
}

TEST_F(CApi, DtypesHaveTheirSizes) {
  EXPECT_EQ(nbx_dtype_size(NBX_FLOAT16), 2u);
  EXPECT_EQ(nbx_dtype_size(NBX_COMPLEX128), 16u);
  EXPECT_EQ(nbx_dtype_size(0), 0u);
  EXPECT_STREQ(nbx_dtype_name(NBX_INT64), "int64");
}

}  // namespace
