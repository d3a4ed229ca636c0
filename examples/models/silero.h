// SPDX-License-Identifier: Apache-2.0
// Around the model of the package silero-vad (speech in a recording): sound → frames, probabilities → segments.
#pragma once
#include <nbx/tensor.h>

#include <span>
#include <string>
#include <vector>

namespace nbx::examples {

// float32 [frames, context + size] from float32 [samples]: each frame is led by the last `context` samples of the one
// before (zeros first); the last frame is filled with zeros. 16 kHz: 512 and 64; 8 kHz: 256 and 32.
Tensor silero_frames(const Tensor& samples, int64_t size = 512, int64_t context = 64);

struct Segment {
  double begin = 0, end = 0;  // seconds
};
struct SpeechOptions {
  double enter = 0.5;        // speech begins at or above this probability
  double leave = 0.35;       // and ends below this one, unless it comes back within min_silence
  double min_speech = 0.25;  // seconds; shorter segments are dropped
  double min_silence = 0.1;  // seconds
  double pad = 0.03;         // seconds added at both ends; neighbours share a shorter gap
};
// `samples`: length of the recording; `frame`: samples a probability.
std::vector<Segment> speech_segments(std::span<const float> probabilities, int64_t samples, int rate,
                                     int64_t frame = 512, const SpeechOptions& options = {});

// "....####....": speech marked on a line of `width` columns.
std::string timeline(const std::vector<Segment>& segments, double seconds, int width = 72);

}  // namespace nbx::examples
