// SPDX-License-Identifier: Apache-2.0
#include "models/silero.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace nbx::examples {
namespace {

TEST(SileroFrames, EachFrameIsLedByTheEndOfTheOneBeforeAndTheLastIsFilled) {
  const Tensor frames = silero_frames(Tensor::of<float>({5}, {1, 2, 3, 4, 5}), 3, 1);
  EXPECT_EQ(frames.shape(), (Shape{2, 4}));
  EXPECT_EQ(frames.to_doubles(), (std::vector<double>{0, 1, 2, 3, 3, 4, 5, 0}));
  EXPECT_EQ(silero_frames(Tensor::zeros({0}, DType::float32)).shape(), (Shape{0, 576}));
  EXPECT_EQ(silero_frames(Tensor::zeros({1024}, DType::float32)).shape(), (Shape{2, 576}));
  EXPECT_NAMES(error_text(Code::shape, [] { silero_frames(Tensor::zeros({1, 5}, DType::float32)); }), "float32[1, 5]");
}

// Frames of 0.1 s: probabilities as a text, a digit each ('9' is 0.9).
std::vector<Segment> segments(const std::string& digits, SpeechOptions options = {}) {
  std::vector<float> p;
  for (char digit : digits) p.push_back(static_cast<float>(digit - '0') / 10);
  return speech_segments(p, static_cast<int64_t>(digits.size()) * 100, 1000, 100, options);
}
SpeechOptions unpadded() {
  SpeechOptions options;
  options.pad = 0;
  return options;
}

TEST(SpeechSegments, SpeechBeginsAndEndsAtTheFrames) {
  const auto got = segments("000999990000", unpadded());
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NEAR(got[0].begin, 0.3, 1e-9);
  EXPECT_NEAR(got[0].end, 0.8, 1e-9);
}

TEST(SpeechSegments, AValueBetweenTheThresholdsDoesNotEndSpeechNorBeginIt) {
  EXPECT_EQ(segments("0004440000", unpadded()).size(), 0u);
  const auto got = segments("0099944449990000", unpadded());
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NEAR(got[0].end, 1.2, 1e-9);
}

TEST(SpeechSegments, AShortSilenceIsBridgedAndALongOneIsNot) {
  EXPECT_EQ(segments("099990999900", unpadded()).size(), 1u);
  EXPECT_EQ(segments("0999900999900", unpadded()).size(), 2u);
}

TEST(SpeechSegments, ShortSpeechIsDropped) {
  EXPECT_EQ(segments("0990000", unpadded()).size(), 0u);
  EXPECT_EQ(segments("0999000", unpadded()).size(), 1u);
}

TEST(SpeechSegments, SpeechUpToTheEndEndsWithTheRecording) {
  const auto got = segments("00099999");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NEAR(got[0].begin, 0.27, 1e-9);
  EXPECT_NEAR(got[0].end, 0.8, 1e-9);
}

TEST(SpeechSegments, PaddingStopsAtTheStartAndSharesAShortGap) {
  SpeechOptions options;
  options.pad = 0.15;
  const auto got = segments("999900999900", options);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_NEAR(got[0].begin, 0, 1e-9);
  EXPECT_NEAR(got[0].end, 0.5, 1e-9);
  EXPECT_NEAR(got[1].begin, 0.5, 1e-9);
  EXPECT_NEAR(got[1].end, 1.15, 1e-9);
}

TEST(Timeline, MarksTheColumnsWhoseMiddleIsSpeech) {
  EXPECT_EQ(timeline({{1, 2}, {3, 3.4}}, 4, 8), "..##..#.");
  EXPECT_EQ(timeline({}, 0, 3), "...");
}

}  // namespace
}  // namespace nbx::examples
