// SPDX-License-Identifier: Apache-2.0
#include "models/silero.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/check.h"

namespace nbx::examples {

Tensor silero_frames(const Tensor& samples, int64_t size, int64_t context) {
  require(samples.rank() == 1 && samples.dtype() == DType::float32, Code::shape,
          "silero: the sound is {}; it must be float32 [samples]", describe(samples));
  require(size > 0 && context >= 0 && context <= size, Code::value, "silero: frames of {} samples led by {}", size,
          context);
  const int64_t count = (samples.numel() + size - 1) / size;
  const Tensor dense = samples.contiguous();
  Tensor out = Tensor::zeros({count, context + size}, DType::float32);
  if (count == 0) return out;
  const auto* from = dense.data<float>();  // (samples)
  auto* to = out.mutable_data<float>();    // (count, context + size)
  for (int64_t i = 0; i < count; ++i, to += context + size) {
    const int64_t first = std::max<int64_t>(0, i * size - context), last = std::min(samples.numel(), (i + 1) * size);
    std::copy(from + first, from + last, to + (first - (i * size - context)));
  }
  return out;
}

std::vector<Segment> speech_segments(std::span<const float> probabilities, int64_t samples, int rate, int64_t frame,
                                     const SpeechOptions& options) {
  require(rate > 0 && frame > 0, Code::value, "speech_segments: rate {} and frame {} must be positive", rate, frame);
  // In samples: whole numbers, so that a silence of just min_silence counts whatever the rate.
  const double min_speech = options.min_speech * rate, min_silence = options.min_silence * rate,
               widest = options.pad * rate;
  const auto length = static_cast<double>(samples);
  std::vector<Segment> out;
  std::optional<double> begin, quiet;  // of the speech we are in; of the silence that may end it
  const auto close = [&](double end) {
    if (end - *begin > min_speech) out.push_back({*begin, end});
    begin.reset();
    quiet.reset();
  };
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const auto now = static_cast<double>(static_cast<int64_t>(i) * frame);
    const double p = probabilities[i];
    if (p >= options.enter) {
      if (!begin) begin = now;
      quiet.reset();
    } else if (begin && p < options.leave) {
      if (!quiet) quiet = now;
      if (now - *quiet >= min_silence) close(*quiet);
    }
  }
  if (begin) close(length);

  for (size_t i = 0; i < out.size(); ++i) {
    if (i == 0) out[i].begin = std::max(0.0, out[i].begin - widest);
    const bool last = i + 1 == out.size();
    const double pad = last ? widest : std::min(widest, (out[i + 1].begin - out[i].end) / 2);
    out[i].end = std::min(length, out[i].end + pad);
    if (!last) out[i + 1].begin -= pad;
  }
  for (Segment& segment : out) segment = {segment.begin / rate, segment.end / rate};
  return out;
}

std::string timeline(const std::vector<Segment>& segments, double seconds, int width) {
  std::string out(static_cast<size_t>(std::max(width, 0)), '.');
  if (seconds <= 0) return out;
  for (size_t column = 0; column < out.size(); ++column) {
    const double at = (static_cast<double>(column) + 0.5) * seconds / static_cast<double>(out.size());
    for (const Segment& segment : segments)
      if (at >= segment.begin && at < segment.end) out[column] = '#';
  }
  return out;
}

}  // namespace nbx::examples
