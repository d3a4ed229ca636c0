// SPDX-License-Identifier: Apache-2.0
// A BERT encoder (Devlin et al. 2018) with the mean over the mask as sentence embedding (Reimers and Gurevych 2019),
// sizes from config.json beside the weights.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/mapped_file.h"
#include "models/build.h"
#include "models/builders.h"

namespace nbx::examples {
namespace {

struct Sizes {
  int64_t hidden = 0, layers = 0, heads = 0, inner = 0, words = 0, positions = 0, types = 0;
  double epsilon = 0;
};

Sizes read_sizes(const std::string& path) {
  const FileBytes file = MappedFile::open(path);
  const auto* text = reinterpret_cast<const char*>(file->data());
  Sizes s;
  std::string activation;
  try {
    const auto json = nlohmann::json::parse(text, text + file->size());
    s.hidden = json.at("hidden_size").get<int64_t>();
    s.layers = json.at("num_hidden_layers").get<int64_t>();
    s.heads = json.at("num_attention_heads").get<int64_t>();
    s.inner = json.at("intermediate_size").get<int64_t>();
    s.words = json.at("vocab_size").get<int64_t>();
    s.positions = json.at("max_position_embeddings").get<int64_t>();
    s.types = json.at("type_vocab_size").get<int64_t>();
    s.epsilon = json.at("layer_norm_eps").get<double>();
    activation = json.at("hidden_act").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail(Code::file, "{}: not the configuration of a BERT encoder: {}", path, error.what());
  }
  require(activation == "gelu", Code::unsupported, "{}: hidden_act is '{}'; only gelu is known", path, activation);
  require(s.heads > 0 && s.hidden > 0 && s.hidden % s.heads == 0 && s.layers > 0, Code::file,
          "{}: {} layers of hidden_size {} in {} heads", path, s.layers, s.hidden, s.heads);
  return s;
}

class Encoder {
 public:
  Encoder(Build& build, const Sizes& sizes) : b(build), s(sizes) {}

  TensorRef embedding(TensorRef ids, TensorRef types) {
    const auto lookup = [&](const std::string& table, int64_t rows, TensorRef index) {
      return b.op("aten::embedding", {b.weight("embeddings." + table + ".weight", {rows, s.hidden}), index});
    };
    const TensorRef words = lookup("word_embeddings", s.words, ids),
                    kinds = lookup("token_type_embeddings", s.types, types);
    const TensorRef table = b.weight("embeddings.position_embeddings.weight", {s.positions, s.hidden});
    const TensorRef places = b.op("aten::slice.Tensor", {table, int64_t{0}, int64_t{0}, length()});
    const TensorRef sum = b.op("aten::add.Tensor", {b.op("aten::add.Tensor", {words, kinds}), places});
    return b.layer_norm(sum, "embeddings.LayerNorm", s.hidden, s.epsilon);
  }

  // 0 where the mask is 1, the lowest float where it is 0: [batch, 1, 1, length].
  TensorRef additive(TensorRef mask) {
    const TensorRef off = b.op("aten::rsub.Scalar", {mask, 1.0});
    const TensorRef low = b.op("aten::mul.Scalar", {off, static_cast<double>(std::numeric_limits<float>::lowest())});
    return b.op("aten::unsqueeze", {b.op("aten::unsqueeze", {low, int64_t{1}}), int64_t{1}});
  }

  TensorRef layer(TensorRef x, TensorRef mask, int64_t index) {
    const std::string name = fmt::format("encoder.layer.{}.", index);
    const TensorRef attended =
        b.linear(attention(x, mask, name + "attention.self."), name + "attention.output.dense", s.hidden, s.hidden);
    x = b.layer_norm(b.op("aten::add.Tensor", {attended, x}), name + "attention.output.LayerNorm", s.hidden, s.epsilon);
    const TensorRef inner = b.op("aten::gelu", {b.linear(x, name + "intermediate.dense", s.inner, s.hidden)});
    const TensorRef out = b.linear(inner, name + "output.dense", s.hidden, s.inner);
    return b.layer_norm(b.op("aten::add.Tensor", {out, x}), name + "output.LayerNorm", s.hidden, s.epsilon);
  }

  TensorRef pooled(TensorRef x, TensorRef mask) {
    const TensorRef column = b.op("aten::unsqueeze", {mask, int64_t{-1}});
    const TensorRef sum = b.op("aten::sum.dim_IntList", {b.op("aten::mul.Tensor", {x, column}), Ints{1}});
    const TensorRef count = b.op("aten::clamp_min", {b.op("aten::sum.dim_IntList", {column, Ints{1}}), 1e-9});
    const TensorRef mean = b.op("aten::div.Tensor", {sum, count});
    const TensorRef norm = b.op("aten::linalg_vector_norm", {mean, 2.0, Ints{1}, true});
    return b.op("aten::div.Tensor", {mean, b.op("aten::clamp_min", {norm, 1e-12})});
  }

 private:
  static Sym symbol(const char* id) {
    SymExpr e;
    e.kind = SymExpr::Kind::symbol;
    e.symbol = id;
    return std::make_shared<SymExpr>(std::move(e));
  }
  static Sym number(int64_t value) {
    SymExpr e;
    e.value = value;
    return std::make_shared<SymExpr>(std::move(e));
  }
  static Value length() { return symbol("length"); }

  TensorRef attention(TensorRef x, TensorRef mask, const std::string& name) {
    const int64_t size = s.hidden / s.heads;
    const auto heads = [&](const char* which) {  // [batch, heads, length, size]
      const TensorRef all = b.linear(x, name + which, s.hidden, s.hidden);
      const Value shape = Syms{symbol("batch"), symbol("length"), number(s.heads), number(size)};
      return b.op("aten::permute", {b.op("aten::view", {all, shape}), Ints{0, 2, 1, 3}});
    };
    const TensorRef q = heads("query"), k = heads("key"), v = heads("value");
    TensorRef scores = b.op("aten::matmul", {q, b.op("aten::transpose.int", {k, int64_t{2}, int64_t{3}})});
    scores = b.op("aten::mul.Scalar", {scores, 1 / std::sqrt(static_cast<double>(size))});
    const TensorRef weights = b.op("aten::softmax.int", {b.op("aten::add.Tensor", {scores, mask}), int64_t{-1}});
    const TensorRef joined = b.op("aten::permute", {b.op("aten::matmul", {weights, v}), Ints{0, 2, 1, 3}});
    return b.op("aten::reshape", {joined, Syms{symbol("batch"), symbol("length"), number(s.hidden)}});
  }

  Build& b;
  const Sizes& s;
};

Symbol dim_symbol(const char* name, int64_t index, int64_t most) {
  Symbol out;
  out.source = Symbol::Source::input_dim;
  out.input = 0;
  out.index = index;
  out.max = most;
  out.name = name;
  return out;
}

}  // namespace

Graph build_minilm(const std::string& safetensors) {
  const size_t slash = safetensors.find_last_of('/');
  const Sizes sizes = read_sizes((slash == std::string::npos ? "" : safetensors.substr(0, slash + 1)) + "config.json");
  Build b("minilm", safetensors);
  b.graph.symbols["batch"] = dim_symbol("batch", 0, std::numeric_limits<int64_t>::max());
  b.graph.symbols["length"] = dim_symbol("length", 1, sizes.positions);
  const std::vector<DimSpec> dims = {{-1, "batch"}, {-1, "length"}};
  const TensorRef ids = b.input("input_ids", DType::int64, dims);
  const TensorRef attention = b.input("attention_mask", DType::int64, dims);
  const TensorRef types = b.input("token_type_ids", DType::int64, dims);

  Encoder encoder(b, sizes);
  const TensorRef mask = b.op("aten::to.dtype", {attention, DType::float32}), low = encoder.additive(mask);
  TensorRef x = encoder.embedding(ids, types);
  b.output("embedding_output", x);
  for (int64_t i = 0; i < sizes.layers; ++i) {
    x = encoder.layer(x, low, i);
    b.output(i + 1 == sizes.layers ? "last_hidden_state" : fmt::format("layer{}_output", i), x);
  }
  b.output("sentence_embedding", encoder.pooled(x, mask));
  return b.finish();
}

}  // namespace nbx::examples
