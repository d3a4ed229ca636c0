// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nbx/session.h>

#include "base/check.h"
#include "demo/demo.h"
#include "io/audio.h"
#include "models/silero.h"

namespace nbx::examples {

void show_speech(const Paths& paths, const std::string& file) {
  const double start = now_ms();
  Session session(Model::load(join(paths.models, "silero_vad/data/silero_vad.onnx")), {.threads = paths.threads});
  const double loaded = now_ms();
  const Sound sound = read_sound(file);
  require(sound.rate == 16000, Code::value, "{}: its rate is {} Hz; 16000 Hz is needed", file, sound.rate);
  const Tensor samples = mono(sound);
  const Tensor frames = silero_frames(samples);

  // The model carries its state from frame to frame.
  std::vector<Tensor> inputs(3), outputs;
  const auto& infos = session.model().inputs();
  size_t at_input = 0, at_state = 0;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == "input") at_input = i;
    if (infos[i].name == "state") at_state = i;
    if (infos[i].name == "sr") inputs[i] = Tensor::scalar<int64_t>(16000);
  }
  Tensor state = Tensor::zeros({2, 1, 128}, DType::float32);
  std::vector<float> probabilities;
  for (int64_t f = 0; f < frames.dim(0); ++f) {
    inputs[at_input] = frames.narrow(0, f, 1);
    inputs[at_state] = state;
    session.run(inputs, outputs);
    probabilities.push_back(static_cast<float>(outputs[0].item()));
    state.copy_(outputs[1]);
  }
  const int64_t length = samples.numel();
  const std::vector<Segment> segments = speech_segments(probabilities, length, sound.rate);
  const double seconds = static_cast<double>(length) / sound.rate, done = now_ms();
  fmt::print("\nSpeech (silero-vad, loaded in {:.0f} ms): {}, {:.2f} s\n", loaded - start,
             file.substr(file.rfind('/') + 1), seconds);
  fmt::print("  |{}|\n", timeline(segments, seconds));
  for (const Segment& s : segments) fmt::print("  speech from {:.2f} to {:.2f} s\n", s.begin, s.end);
  fmt::print("  {} frames in {:.1f} ms: {:.0f} times faster than the recording\n", frames.dim(0), done - loaded,
             seconds * 1000 / (done - loaded));
}

}  // namespace nbx::examples
