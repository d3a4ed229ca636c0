// SPDX-License-Identifier: Apache-2.0
// Sound files through libsndfile, on bytes in memory.
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "io/audio.h"
#include "io/quote.h"

namespace nbx::codec {
namespace {

struct View {
  const std::byte* data;
  sf_count_t size, at;
};

sf_count_t moved(sf_count_t offset, int whence, sf_count_t at, sf_count_t size) {
  sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? at : size;
  sf_count_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0) return -1;
  return to;
}

sf_count_t view_size(void* user) { return static_cast<View*>(user)->size; }
sf_count_t view_tell(void* user) { return static_cast<View*>(user)->at; }
sf_count_t view_seek(sf_count_t offset, int whence, void* user) {
  auto* view = static_cast<View*>(user);
  const sf_count_t to = moved(offset, whence, view->at, view->size);
  if (to >= 0) view->at = std::min(to, view->size);
  return to < 0 ? -1 : view->at;
}
sf_count_t view_read(void* to, sf_count_t bytes, void* user) {
  auto* view = static_cast<View*>(user);
  const sf_count_t count = std::max<sf_count_t>(0, std::min(bytes, view->size - view->at));
  if (count > 0) std::memcpy(to, view->data + view->at, static_cast<size_t>(count));
  view->at += count;
  return count;
}
sf_count_t view_write(const void*, sf_count_t, void*) { return 0; }

struct Text {
  std::string bytes;
  sf_count_t at = 0;
};
sf_count_t text_size(void* user) { return static_cast<sf_count_t>(static_cast<Text*>(user)->bytes.size()); }
sf_count_t text_tell(void* user) { return static_cast<Text*>(user)->at; }
sf_count_t text_seek(sf_count_t offset, int whence, void* user) {
  auto* text = static_cast<Text*>(user);
  const sf_count_t to = moved(offset, whence, text->at, text_size(user));
  if (to >= 0) text->at = to;
  return to;
}
sf_count_t text_read(void*, sf_count_t, void*) { return 0; }
sf_count_t text_write(const void* from, sf_count_t bytes, void* user) {
  auto* text = static_cast<Text*>(user);
  const auto end = static_cast<size_t>(text->at + bytes);
  try {
    if (text->bytes.size() < end) text->bytes.resize(end);
  } catch (const std::bad_alloc&) {
    return 0;  // an exception must not pass through the C library
  }
  std::memcpy(text->bytes.data() + text->at, from, static_cast<size_t>(bytes));
  text->at += bytes;
  return bytes;
}

// Of the two dozen formats that libsndfile knows, those with a use here; its readers of the others leak and overflow on
// damaged files more often (its Ogg reader was seen to leak under the fuzzer). No RF64: it is for sounds above every
// limit here, and its sizes would need checks of their own.
bool is_known(const FileBytes& file) {
  if (file->size() < 12) return false;
  const std::string_view head(reinterpret_cast<const char*>(file->data()), 12);
  const std::string_view first = head.substr(0, 4), form = head.substr(8);
  return (first == "RIFF" && form == "WAVE") || first == "fLaC" ||
         (first == "FORM" && (form == "AIFF" || form == "AIFC"));
}

struct Closer {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using Handle = std::unique_ptr<SNDFILE, Closer>;

// Reading divides by 32768; libsndfile's own writing multiplies by 32767.
std::vector<int16_t> to_pcm16(const float* from, int64_t count) {
  std::vector<int16_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    const float scaled = std::nearbyint(from[i] * 32768.0f);
    out[i] = static_cast<int16_t>(std::isnan(scaled) ? 0.0f : std::min(std::max(scaled, -32768.0f), 32767.0f));
  }
  return out;
}

}  // namespace

Sound decode_sound(const FileBytes& file, const Limits& limits) {
  const auto shown = static_cast<size_t>(std::min<int64_t>(file->size(), 4));
  require(is_known(file), Code::file, "{}: no WAV, FLAC or AIFF; the file begins with {}", file->path(),
          shown == 0 ? "nothing" : quote({reinterpret_cast<const char*>(file->data()), shown}));
  SF_VIRTUAL_IO io = {view_size, view_seek, view_read, view_write, view_tell};
  View view = {file->data(), file->size(), 0};
  SF_INFO info = {};
  const Handle sound(sf_open_virtual(&io, SFM_READ, &info, &view));
  require(sound != nullptr, Code::file, "{}: not a sound file that can be read: {}", file->path(),
          quote(sf_strerror(nullptr)));
  require(info.channels >= 1 && info.channels <= limits.channels, Code::file, "{}: {} channels; 1 to {} are supported",
          file->path(), info.channels, limits.channels);
  require(info.samplerate > 0, Code::file, "{}: the sample rate is {}", file->path(), info.samplerate);
  require(info.frames >= 0 && info.frames <= limits.samples / info.channels, Code::file,
          "{}: {} frames of {} channels; at most {} samples are allowed", file->path(), info.frames, info.channels,
          limits.samples);

  Sound out;
  out.rate = info.samplerate;
  out.samples = Tensor::empty({info.frames, info.channels}, DType::float32);
  auto* to = out.samples.mutable_data<float>();
  // In pieces: a file that claims more than it has must not make us touch all that it claims.
  constexpr sf_count_t kPiece = 1 << 16;
  for (sf_count_t done = 0; done < info.frames;) {
    const sf_count_t got = sf_readf_float(sound.get(), to + done * info.channels, std::min(kPiece, info.frames - done));
    require(got > 0, Code::file, "{}: the sound ends after {} of {} frames{}", file->path(), done, info.frames,
            sf_error(sound.get()) == SF_ERR_NO_ERROR ? "" : ": " + quote(sf_strerror(sound.get())));
    done += got;
  }
  return out;
}

std::string encode_wav(const std::string& where, const Tensor& samples, int rate, WavFormat format) {
  const Tensor dense = samples.contiguous();
  SF_VIRTUAL_IO io = {text_size, text_seek, text_read, text_write, text_tell};
  SF_INFO info = {};
  info.samplerate = rate;
  info.channels = dense.rank() == 1 ? 1 : static_cast<int>(dense.dim(1));
  info.format = SF_FORMAT_WAV | (format == WavFormat::pcm16 ? SF_FORMAT_PCM_16 : SF_FORMAT_FLOAT);
  Text text;
  {
    const Handle sound(sf_open_virtual(&io, SFM_WRITE, &info, &text));
    require(sound != nullptr, Code::file, "{}: libsndfile: {}", where, quote(sf_strerror(nullptr)));
    // The PEAK chunk of float files holds the time of writing; equal sounds should give equal files.
    sf_command(sound.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
    const auto* from = dense.data<float>();
    const sf_count_t count = dense.numel();
    sf_count_t written = 0;
    if (format == WavFormat::pcm16) {
      const std::vector<int16_t> values = to_pcm16(from, count);
      written = sf_write_short(sound.get(), values.data(), count);
    } else {
      written = sf_write_float(sound.get(), from, count);
    }
    require(written == count, Code::file, "{}: libsndfile: {}", where, quote(sf_strerror(sound.get())));
  }
  return std::move(text.bytes);
}

}  // namespace nbx::codec
