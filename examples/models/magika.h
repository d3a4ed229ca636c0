// SPDX-License-Identifier: Apache-2.0
// Around the model of the package magika (file types from content): bytes → its input, its output → a label.
#pragma once
#include <nbx/tensor.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace nbx::examples {

// What config.min.json beside the model says.
struct MagikaConfig {
  int64_t begin_bytes = 1024, end_bytes = 1024, block_bytes = 4096;
  int32_t padding = 256;
  std::vector<std::string> labels;
  std::map<std::string, std::string> renamed;  // labels that stand for another
  std::map<std::string, double> thresholds;    // a label below its own (else the common one) is not sure
  double threshold = 0.5;
};
MagikaConfig read_magika_config(const std::string& path);

// int32 [1, begin + end]: the first bytes, leading blanks stripped, padded at the end; the last bytes, trailing blanks
// stripped, padded at the front. Only `block_bytes` at each end are looked at.
Tensor magika_input(std::span<const std::byte> content, const MagikaConfig& config = {});

struct FileType {
  std::string label;
  float score = 0;
  bool sure = false;
};
// One row of target_label: float32 [labels].
FileType magika_label(const Tensor& scores, const MagikaConfig& config);

}  // namespace nbx::examples
