// SPDX-License-Identifier: Apache-2.0
// examples/data/: the files are what truth.json beside them says.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/audio.h"
#include "io/image.h"

namespace nbx::examples {
namespace {

const std::string kFolder = std::string(NBX_SOURCE_DIR) + "/examples/data/";

nlohmann::json truth() { return nlohmann::json::parse(std::ifstream(kFolder + "truth.json")); }

TEST(DemoData, ThePageHasSidesThatTheDetectorTakesAsTheyAre) {
  const Tensor page = read_image(kFolder + "page.png");
  EXPECT_EQ(page.dim(0) % 32, 0);
  EXPECT_EQ(page.dim(1) % 32, 0);
  EXPECT_EQ(truth().at("page.png").at("lines").size(), 3u);
}

TEST(DemoData, TheRecordingIsLoudInTheStatedSegmentsAndNowhereElse) {
  const Sound sound = read_sound(kFolder + "speech16k.wav");
  const auto stated = truth().at("speech16k.wav");
  EXPECT_EQ(sound.rate, stated.at("rate").get<int>());
  ASSERT_EQ(sound.samples.dim(0), stated.at("frames").get<int64_t>());
  const Tensor samples = mono(sound);
  const auto* p = samples.data<float>();
  std::vector<double> first, last;  // seconds of the first and last loud sample of each segment
  for (int64_t i = 0; i < samples.numel(); ++i) {
    if (std::abs(p[i]) < 150.0f / 32768) continue;
    const double at = static_cast<double>(i) / sound.rate;
    if (last.empty() || at - last.back() > 0.5) {
      first.push_back(at);
      last.push_back(at);
    }
    last.back() = at;
  }
  const auto segments = stated.at("segments");
  ASSERT_EQ(first.size(), segments.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(first[i], segments[i][0].get<double>(), 0.02);
    EXPECT_NEAR(last[i], segments[i][1].get<double>(), 0.02);
  }
}

TEST(DemoData, EachFileWithAStatedTypeIsThere) {
  for (const auto& [name, type] : truth().at("types").items())
    EXPECT_TRUE(std::ifstream(kFolder + name).good()) << name << " " << type;
}

}  // namespace
}  // namespace nbx::examples
