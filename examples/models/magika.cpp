// SPDX-License-Identifier: Apache-2.0
#include "models/magika.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/mapped_file.h"

namespace nbx::examples {
namespace {

// The blanks of Python's bytes.strip(), which the model was trained behind.
bool is_blank(std::byte value) {
  const auto c = static_cast<unsigned char>(value);
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

MagikaConfig read_magika_config(const std::string& path) {
  const FileBytes file = MappedFile::open(path);
  const auto* text = reinterpret_cast<const char*>(file->data());
  MagikaConfig out;
  try {
    const auto json = nlohmann::json::parse(text, text + file->size());
    out.begin_bytes = json.at("beg_size").get<int64_t>();
    out.end_bytes = json.at("end_size").get<int64_t>();
    out.block_bytes = json.at("block_size").get<int64_t>();
    out.padding = json.at("padding_token").get<int32_t>();
    out.labels = json.at("target_labels_space").get<std::vector<std::string>>();
    out.renamed = json.at("overwrite_map").get<std::map<std::string, std::string>>();
    out.thresholds = json.at("thresholds").get<std::map<std::string, double>>();
    out.threshold = json.at("medium_confidence_threshold").get<double>();
  } catch (const nlohmann::json::exception& error) {
    fail(Code::file, "{}: not a configuration of magika: {}", path, error.what());
  }
  const int64_t most = 1 << 20;
  for (int64_t bytes : {out.begin_bytes, out.end_bytes, out.block_bytes})
    require(bytes >= 0 && bytes <= most, Code::file, "{}: a size of {} bytes; 0 to {} are expected", path, bytes, most);
  return out;
}

Tensor magika_input(std::span<const std::byte> content, const MagikaConfig& config) {
  const size_t block = std::min(content.size(), static_cast<size_t>(config.block_bytes));
  std::span<const std::byte> head = content.first(block), tail = content.last(block);
  while (!head.empty() && is_blank(head.front())) head = head.subspan(1);
  while (!tail.empty() && is_blank(tail.back())) tail = tail.first(tail.size() - 1);
  const auto begin = static_cast<size_t>(config.begin_bytes), end = static_cast<size_t>(config.end_bytes);
  head = head.first(std::min(head.size(), begin));
  tail = tail.last(std::min(tail.size(), end));

  std::vector<int32_t> values(begin + end, config.padding);
  const auto as_int = [](std::byte value) { return static_cast<int32_t>(value); };
  std::transform(head.begin(), head.end(), values.begin(), as_int);
  std::transform(tail.begin(), tail.end(), values.end() - static_cast<std::ptrdiff_t>(tail.size()), as_int);
  return Tensor::of<int32_t>({1, config.begin_bytes + config.end_bytes}, std::span<const int32_t>(values));
}

FileType magika_label(const Tensor& scores, const MagikaConfig& config) {
  require(scores.rank() == 1 && scores.dim(0) == static_cast<int64_t>(config.labels.size()), Code::shape,
          "magika: the scores are {}, the configuration has {} labels", describe(scores), config.labels.size());
  require(!config.labels.empty(), Code::value, "magika: the configuration has no labels");
  const std::vector<double> values = scores.to_doubles();
  const auto best = static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  FileType out;
  out.label = config.labels[best];
  out.score = static_cast<float>(values[best]);
  const auto own = config.thresholds.find(out.label);
  out.sure = values[best] >= (own == config.thresholds.end() ? config.threshold : own->second);
  const auto other = config.renamed.find(out.label);
  if (other != config.renamed.end()) out.label = other->second;
  return out;
}

}  // namespace nbx::examples
