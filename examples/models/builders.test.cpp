// SPDX-License-Identifier: Apache-2.0
#include "models/builders.h"

#include <gtest/gtest.h>
#include <nbx/session.h>

#include <cmath>

#include "io/nbx_json.h"
#include "io/safetensors.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx::examples {
namespace {

// Small weights that differ everywhere.
Tensor weights(const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::float32);
  auto* p = out.mutable_data<float>();
  for (int64_t i = 0; i < out.numel(); ++i)
    p[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + 0.3)) * 0.1f;
  return out;
}

struct Weight {
  const char* name;
  Shape shape;
};
NamedTensors named(const std::vector<Weight>& list) {
  NamedTensors out;
  for (const Weight& w : list) out.add(w.name, weights(w.shape));
  return out;
}
NamedTensors silero_weights() {
  return named({{"stft_conv.weight", {258, 1, 256}},
                {"conv1.weight", {128, 129, 3}},
                {"conv1.bias", {128}},
                {"conv2.weight", {64, 128, 3}},
                {"conv2.bias", {64}},
                {"conv3.weight", {64, 64, 3}},
                {"conv3.bias", {64}},
                {"conv4.weight", {128, 64, 3}},
                {"conv4.bias", {128}},
                {"lstm_cell.weight_ih", {512, 128}},
                {"lstm_cell.weight_hh", {512, 128}},
                {"lstm_cell.bias_ih", {512}},
                {"lstm_cell.bias_hh", {512}},
                {"final_conv.weight", {1, 128, 1}},
                {"final_conv.bias", {1}}});
}

std::vector<Tensor> run(Graph graph, const std::vector<std::pair<std::string, Tensor>>& inputs) {
  SessionOptions options;
  options.threads = 1;
  Session session(Model::from_graph(std::move(graph)), options);
  return session.run(inputs);
}

const std::vector<std::pair<std::string, Tensor>> kFrame = {{"input", weights({1, 576})},
                                                            {"state", weights({2, 1, 128})}};

TEST(BuildSilero, GivesAProbabilityAndTheNextState) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", silero_weights());
  const auto got = run(build_silero(folder / "w.safetensors"), kFrame);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].shape(), (Shape{1, 1}));
  EXPECT_GT(got[0].item(), 0);
  EXPECT_LT(got[0].item(), 1);
  EXPECT_EQ(got[1].shape(), (Shape{2, 1, 128}));
  EXPECT_EQ(got[2].shape(), (Shape{1, 129, 4}));
  EXPECT_EQ(got[3].shape(), (Shape{1, 128}));
}

TEST(BuildSilero, SavedAsNbxJsonItGivesTheSameBits) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", silero_weights());
  write_nbx_json(build_silero(folder / "w.safetensors"), folder / "silero.json");
  const auto direct = run(build_silero(folder / "w.safetensors"), kFrame),
             saved = run(read_nbx_json(folder / "silero.json"), kFrame);
  ASSERT_EQ(direct.size(), saved.size());
  for (size_t i = 0; i < direct.size(); ++i) EXPECT_TRUE(same_bits(direct[i], saved[i])) << i;
}

TEST(BuildSilero, AMissingOrMisshapenWeightIsAnErrorNamingFileAndWeight) {
  const TempFolder folder;
  NamedTensors most, wrong;
  for (const auto& [name, tensor] : silero_weights()) {
    if (name != "conv3.bias") most.add(name, tensor);
    wrong.add(name, name == "conv3.bias" ? weights({65}) : tensor);
  }
  const std::string path = folder / "w.safetensors";
  write_safetensors(path, most);
  EXPECT_NAMES(error_text(Code::file, [&] { build_silero(path); }), "w.safetensors: no weight 'conv3.bias'");
  write_safetensors(path, wrong);
  EXPECT_NAMES(error_text(Code::file, [&] { build_silero(path); }), "float32[65]; it must be float32[64]");
}

constexpr const char* kConfig =
    R"({"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":12,"vocab_size":20,)"
    R"("max_position_embeddings":6,"type_vocab_size":2,"layer_norm_eps":1e-12,"hidden_act":"gelu"})";

NamedTensors bert_weights() {
  const std::string layer = "encoder.layer.0.";
  NamedTensors out = named({{"embeddings.word_embeddings.weight", {20, 8}},
                            {"embeddings.position_embeddings.weight", {6, 8}},
                            {"embeddings.token_type_embeddings.weight", {2, 8}}});
  const auto dense = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    out.add(name + ".weight", weights({outputs, inputs}));
    out.add(name + ".bias", weights({outputs}));
  };
  const auto norm = [&](const std::string& name) {
    out.add(name + ".weight", weights({8}));
    out.add(name + ".bias", weights({8}));
  };
  norm("embeddings.LayerNorm");
  for (const char* part :
       {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
    dense(layer + part, 8, 8);
  norm(layer + "attention.output.LayerNorm");
  dense(layer + "intermediate.dense", 12, 8);
  dense(layer + "output.dense", 8, 12);
  norm(layer + "output.LayerNorm");
  return out;
}

std::vector<std::pair<std::string, Tensor>> words(const Shape& shape, std::initializer_list<int64_t> ids,
                                                  std::initializer_list<int64_t> mask) {
  return {{"input_ids", Tensor::of<int64_t>(shape, ids)},
          {"attention_mask", Tensor::of<int64_t>(shape, mask)},
          {"token_type_ids", Tensor::zeros(shape, DType::int64)}};
}

TEST(BuildMinilm, PaddingDoesNotChangeTheSentenceEmbeddingWhichHasLengthOne) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  write_safetensors(folder / "w.safetensors", bert_weights());
  const auto plain = run(build_minilm(folder / "w.safetensors"), words({1, 3}, {4, 7, 9}, {1, 1, 1}));
  const auto padded = run(build_minilm(folder / "w.safetensors"), words({1, 5}, {4, 7, 9, 0, 0}, {1, 1, 1, 0, 0}));
  ASSERT_EQ(plain.size(), 3u);  // embedding_output, last_hidden_state, sentence_embedding
  EXPECT_EQ(plain[1].shape(), (Shape{1, 3, 8}));
  const std::vector<double> a = plain[2].to_doubles(), b = padded[2].to_doubles();
  double length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-6);
    length += a[i] * a[i];
  }
  EXPECT_NEAR(length, 1, 1e-5);
}

TEST(BuildMinilm, ATextLongerThanThePositionsIsRefused) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  write_safetensors(folder / "w.safetensors", bert_weights());
  Graph graph = build_minilm(folder / "w.safetensors");
  EXPECT_THROW(run(std::move(graph), words({1, 7}, {1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1})), Error);
}

TEST(BuildMinilm, AWrongConfigurationIsRefusedByName) {
  const TempFolder folder;
  write_safetensors(folder / "w.safetensors", bert_weights());
  const auto refused = [&](Code code, const std::string& config) {
    folder.write("config.json", config);
    return error_text(code, [&] { build_minilm(folder / "w.safetensors"); });
  };
  EXPECT_NAMES(refused(Code::file, "{}"), "config.json");
  std::string text = kConfig;
  EXPECT_NAMES(refused(Code::unsupported, text.replace(text.find("gelu"), 4, "tanh")), "'tanh'");
  text = kConfig;
  EXPECT_NAMES(refused(Code::file, text.replace(text.find("heads\":2"), 8, "heads\":3")), "in 3 heads");
}

TEST(BuildModel, OnlyKnownModelsWithSafetensorsHaveABuilder) {
  EXPECT_FALSE(build_model("silero-vad", "a.onnx").has_value());
  EXPECT_FALSE(build_model("another", "a.safetensors").has_value());
}

}  // namespace
}  // namespace nbx::examples
