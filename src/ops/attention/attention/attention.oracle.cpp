// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "ops/attention/attention/attention.h"

namespace nbx {
namespace {

using Values = std::vector<double>;
const double kOut = -INFINITY;

double at(const Values& values, int64_t i) { return values[static_cast<size_t>(i)]; }

Values joined(const AttentionSpec& s, const AttentionView& fresh, const Values& news, int past,
              const std::vector<Tensor>& operands, int64_t width) {
  const Values olds = past < 0 ? Values() : operands[static_cast<size_t>(past)].to_doubles();
  Values out;
  for (int64_t i = 0; i < s.batch * s.heads; ++i) {
    for (int64_t j = 0; j < s.keys; ++j) {
      for (int64_t d = 0; d < width; ++d) {
        const int64_t added = j - s.old_keys;
        out.push_back(added < 0 ? at(olds, (i * s.old_keys + j) * width + d)
                                : at(news, fresh.lead.offset(i) + added * fresh.row + d));
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Tensor> attention_oracle(const AttentionSpec& s, const std::vector<Tensor>& operands) {
  const auto values = [&](int i) { return i < 0 ? Values() : operands[static_cast<size_t>(i)].to_doubles(); };
  const Values q = values(s.q.operand), mask = values(s.mask.operand);
  Values k = values(s.k.operand), v = values(s.v.operand);
  if (s.presents) {
    k = joined(s, s.new_k, k, s.past_k, operands, s.depth);
    v = joined(s, s.new_v, v, s.past_v, operands, s.width);
  }
  std::vector<int64_t> lengths;
  if (s.lengths >= 0) lengths = operands[static_cast<size_t>(s.lengths)].to_ints();

  Values y(static_cast<size_t>(s.lead * s.queries * s.width)), scores;
  for (int64_t l = 0; l < s.lead; ++l) {
    for (int64_t i = 0; i < s.queries; ++i) {
      Values row(static_cast<size_t>(s.keys)), shown(row);
      double top = kOut, sum = 0;
      bool nan = false;
      const auto range = s.range(i, lengths.empty() ? nullptr : lengths.data(), l);
      for (int64_t j = 0; j < s.keys; ++j) {
        double x = 0;
        for (int64_t d = 0; d < s.depth; ++d)
          x += s.scale * at(q, s.q.lead.offset(l) + i * s.q.row + d * s.q.step) *
               at(k, s.k.lead.offset(l) + j * s.k.row + d * s.k.step);
        const double raw = x;
        if (s.softcap > 0) x = s.softcap * std::tanh(x / s.softcap);
        const double capped = x;
        if (j < range.first || j >= range.last) {
          x = kOut;
        } else if (s.mask.operand >= 0) {
          const double bias = at(mask, s.mask.lead.offset(l) + i * s.mask.row + j * s.mask.step);
          if (s.mask.dtype == DType::bool_)
            x = bias != 0 ? x : kOut;
          else
            x = bias == kOut ? kOut : x + bias;
        }
        row[static_cast<size_t>(j)] = x;
        shown[static_cast<size_t>(j)] = s.scores_mode == 0 ? raw : s.scores_mode == 1 ? capped : x;
        nan = nan || std::isnan(x);
        top = std::fmax(top, x);
      }
      for (const double x : row) sum += std::exp(x - top);
      for (double& x : row) x = nan ? NAN : top == kOut ? 0 : std::exp(x - top) / sum;
      if (s.scores) {
        const Values& given = s.scores_mode == 3 ? row : shown;
        scores.insert(scores.end(), given.begin(), given.end());
      }
      for (int64_t w = 0; w < s.width; ++w) {
        double total = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          const double p = row[static_cast<size_t>(j)];
          if (p != 0) total += p * at(v, s.v.lead.offset(l) + j * s.v.row + w * s.v.step);
        }
        y[static_cast<size_t>(s.y.lead.offset(l) + i * s.y.row + w)] = total;
      }
    }
  }
  const auto tensor = [&](size_t i, const Values& from) {
    return Tensor::of<double>(s.outputs[i].shape, std::span<const double>(from));
  };
  std::vector<Tensor> out{tensor(0, y)};
  if (s.outputs.size() == 1) return out;
  out.push_back(tensor(1, s.presents ? k : Values()));
  out.push_back(tensor(2, s.presents ? v : Values()));
  out.push_back(tensor(3, scores));
  return out;
}

}  // namespace nbx
