// SPDX-License-Identifier: Apache-2.0
#include "io/audio.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

#if NBX_HAVE_SNDFILE
namespace nbx {
namespace {

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}
// A 16-bit WAV made by hand; `claims` overrides the size of the data chunk.
std::string wav(int channels, int rate, const std::vector<int16_t>& values, int64_t claims = -1) {
  std::string out = "RIFF";
  const uint64_t bytes = claims >= 0 ? static_cast<uint64_t>(claims) : values.size() * 2;
  put(out, 36 + bytes, 4);
  out += "WAVEfmt ";
  put(out, 16, 4);
  put(out, 1, 2);
  put(out, static_cast<uint64_t>(channels), 2);
  put(out, static_cast<uint64_t>(rate), 4);
  put(out, static_cast<uint64_t>(rate * channels * 2), 4);
  put(out, static_cast<uint64_t>(channels * 2), 2);
  put(out, 16, 2);
  out += "data";
  put(out, bytes, 4);
  for (int16_t value : values) put(out, static_cast<uint16_t>(value), 2);
  return out;
}
Sound parse(const std::string& bytes) { return parse_sound(MappedFile::in_memory("a.wav", bytes)); }
std::string refused(const std::string& bytes, const Limits& limits = {}) {
  const std::string text = error_text(Code::file, [&] { parse_sound(MappedFile::in_memory("a.wav", bytes), limits); });
  EXPECT_NAMES(text, "a.wav");
  return text;
}

TEST(Audio, SixteenBitsAreDividedBy32768) {
  const Sound sound = parse(wav(2, 16000, {0, 16384, -32768, 32767}));
  EXPECT_EQ(sound.rate, 16000);
  EXPECT_EQ(sound.samples.shape(), (Shape{2, 2}));
  EXPECT_EQ(sound.samples.to_doubles(), (std::vector<double>{0, 0.5, -1, 32767.0 / 32768}));
}

TEST(Audio, MonoIsTheMeanOfTheChannels) {
  const Tensor mean = mono(parse(wav(2, 16000, {0, 16384, -32768, 16384})));
  EXPECT_EQ(mean.shape(), (Shape{2}));
  EXPECT_EQ(mean.to_doubles(), (std::vector<double>{0.25, -0.25}));
}

TEST(Audio, AWrittenSoundComesBack) {
  const TempFolder folder;
  const Tensor samples = Tensor::of<float>({3, 2}, {0, 0.25f, -0.5f, 1.f / 3, -1, 0.75f});
  write_wav(folder / "f.wav", samples, 22050, WavFormat::float32);
  const Sound exact = read_sound(folder / "f.wav");
  EXPECT_EQ(exact.rate, 22050);
  EXPECT_TRUE(same_bits(exact.samples, samples));
  write_wav(folder / "i.wav", samples, 22050);
  EXPECT_NEAR(read_sound(folder / "i.wav").samples.to_doubles()[3], 1. / 3, 1. / 65536);
  write_wav(folder / "clip.wav", Tensor::of<float>({2}, {2.f, -2.f}), 8000);
  EXPECT_EQ(read_sound(folder / "clip.wav").samples.to_doubles(), (std::vector<double>{32767. / 32768, -1}));
  write_wav(folder / "g.wav", samples, 22050, WavFormat::float32);
  EXPECT_EQ(TempFolder::read(folder / "f.wav"), TempFolder::read(folder / "g.wav"));
}

TEST(Audio, AnEmptySoundHasNoFrames) { EXPECT_EQ(parse(wav(1, 8000, {})).samples.shape(), (Shape{0, 1})); }

TEST(Audio, ACutFileIsAnErrorWithBothSizes) {
  const std::string good = wav(1, 16000, std::vector<int16_t>(100, 5));
  for (size_t cut = 0; cut < good.size(); ++cut) refused(good.substr(0, cut));
  EXPECT_NAMES(refused(good.substr(0, 144)), "236, 136 bytes follow");
}

TEST(Audio, ADataChunkThatClaimsGigabytesIsRefused) {
  std::string bytes = wav(1, 16000, {1, 2, 3, 4}, 4'000'000'000);
  EXPECT_NAMES(refused(bytes), "4000000036");
  bytes.replace(4, 4, std::string("\x2c\0\0\0", 4));  // a right RIFF size, the chunk still lies
  EXPECT_NAMES(refused(bytes), "chunk 'data' at byte 36 has 4000000000 bytes, 8 follow");
}

TEST(Audio, MoreSamplesOrChannelsThanAllowedAreRefused) {
  Limits limits;
  limits.samples = 3;
  EXPECT_NAMES(refused(wav(2, 16000, {1, 2, 3, 4}), limits), "at most 3 samples");
  limits = {};
  limits.channels = 1;
  EXPECT_NAMES(refused(wav(2, 16000, {1, 2, 3, 4}), limits), "2 channels");
}

TEST(Audio, WhatIsNoSoundIsRefusedNamingItsFirstBytes) {
  EXPECT_NAMES(refused("not a sound file"), "begins with 'not '");
  EXPECT_NAMES(refused(""), "nothing");
  EXPECT_NAMES(refused(std::string("RIFF\4\0\0\0WAVE", 12)), "not a sound file that can be read");
}

TEST(Audio, ACutAiffIsAnErrorWithBothSizes) {
  const std::string bytes("FORM\0\0\1\0AIFFCOMM\0\0\0\22", 20);
  EXPECT_NAMES(refused(bytes), "the FORM size is 256, 12 bytes follow");
}

// Its sizes of 64 bits are above every limit here, and would need checks of their own.
TEST(Audio, Rf64IsRefused) {
  EXPECT_NAMES(refused("RF64" + std::string(4, '\xff') + "WAVEds64" + std::string(40, '\0')), "begins with 'RF64'");
}

TEST(Audio, OnlyFloatFramesAreWritten) {
  const TempFolder folder;
  EXPECT_NAMES(error_text(Code::shape,
                          [&] {
                            write_wav(folder / "a.wav", Tensor::zeros({2, 2, 2}, DType::float32), 8000);
                          }),
               "float32[2, 2, 2]");
  EXPECT_NAMES(error_text(Code::value, [&] { write_wav(folder / "a.wav", Tensor::zeros({2}, DType::float32), 0); }),
               "rate is 0");
}

}  // namespace
}  // namespace nbx
#else
TEST(Audio, WithoutTheLibraryTheErrorSaysHowToGetIt) {
  EXPECT_NAMES(
      nbx::error_text(nbx::Code::unsupported, [] { nbx::parse_sound(nbx::MappedFile::in_memory("a.wav", "RIFF")); }),
      "NBX_WITH_SOUND");
}
#endif
