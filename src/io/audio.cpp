// SPDX-License-Identifier: Apache-2.0
#include "io/audio.h"

#include <cstring>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/quote.h"

namespace nbx {

#if NBX_HAVE_SNDFILE
Sound parse_sound(const FileBytes& file, const Limits& limits) {
  codec::check_wav(file);
  return codec::decode_sound(file, limits);
}
#else
Sound parse_sound(const FileBytes& file, const Limits&) {
  fail(Code::unsupported,
       "{}: this nbx is built without sound; install libsndfile1-dev and build with -DNBX_WITH_SOUND=ON", file->path());
}
#endif

Sound read_sound(const std::string& path, const Limits& limits) { return parse_sound(MappedFile::open(path), limits); }

void write_wav(const std::string& path, const Tensor& samples, int rate, WavFormat format) {
  const bool fits =
      samples.defined() && samples.dtype() == DType::float32 && (samples.rank() == 1 || samples.rank() == 2);
  require(fits, Code::shape, "{}: a sound is written from float32 [frames] or [frames, channels], not from {}", path,
          samples.defined() ? describe(samples) : "nothing");
  require(rate > 0, Code::value, "{}: the sample rate is {}; it must be positive", path, rate);
  const int64_t channels = samples.rank() == 1 ? 1 : samples.dim(1), most = Limits{}.channels;
  require(channels >= 1 && channels <= most, Code::shape, "{}: {} has {} channels; 1 to {} can be written", path,
          describe(samples), channels, most);
#if NBX_HAVE_SNDFILE
  write_file_atomically(path, codec::encode_wav(path, samples, rate, format));
#else
  static_cast<void>(format);
  fail(Code::unsupported,
       "{}: this nbx is built without sound; install libsndfile1-dev and build with -DNBX_WITH_SOUND=ON", path);
#endif
}

Tensor mono(const Sound& sound) {
  const int64_t frames = sound.samples.dim(0), channels = sound.samples.dim(1);
  if (channels == 1) return sound.samples.view({frames});
  const Tensor dense = sound.samples.contiguous();
  Tensor out = Tensor::empty({frames}, DType::float32);
  const auto* from = dense.data<float>();  // (frames, channels)
  auto* to = out.mutable_data<float>();    // (frames)
  for (int64_t i = 0; i < frames; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += from[i * channels + c];
    to[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
  return out;
}

void codec::check_wav(const FileBytes& file) {
  const auto text = [&](int64_t at) { return std::string_view(reinterpret_cast<const char*>(file->data()) + at, 4); };
  if (file->size() < 12) return;
  const bool wav = text(0) == "RIFF" && text(8) == "WAVE";
  if (!wav && !(text(0) == "FORM" && (text(8) == "AIFF" || text(8) == "AIFC"))) return;
  const auto u32 = [&](int64_t at) {  // WAV counts from the low byte, AIFF from the high one
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint32_t>(file->data()[at + (wav ? 3 - i : i)]);
    return int64_t{value};
  };
  require(u32(4) <= file->size() - 8, Code::file, "{}: the {} size is {}, {} bytes follow; the file is cut short",
          file->path(), text(0), u32(4), file->size() - 8);
  // What stands after the form (tags of some programs) is not ours; a writer to a pipe leaves the size 0.
  const int64_t end = u32(4) == 0 ? file->size() : 8 + u32(4);
  int64_t at = 12;
  while (at + 8 <= end) {
    const int64_t bytes = u32(at + 4);
    require(bytes <= file->size() - at - 8, Code::file,
            "{}: chunk {} at byte {} has {} bytes, {} follow; the file is cut short", file->path(), quote(text(at)), at,
            bytes, file->size() - at - 8);
    at += 8 + bytes + bytes % 2;
  }
}

}  // namespace nbx
