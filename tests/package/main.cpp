// SPDX-License-Identifier: Apache-2.0
// What a user's first program does: link the installed library, load a model, run it, and get an error as an exception.
#include <nbx/session.h>
#include <nbx/version.h>

#include <cstdio>

int main(int, char** arguments) {
  const auto model = nbx::Model::load(arguments[1]);
  nbx::Session session(model, {.threads = 2});
  const auto outputs = session.run({{"x", nbx::Tensor::of<float>({2, 3}, {-1, 2, -3, 4, 0, 6})}});
  if (outputs.size() != 1 || outputs[0].to_doubles() != std::vector<double>{0, 2, 0, 4, 0, 6}) {
    std::fprintf(stderr, "wrong answer: %s\n", outputs.empty() ? "none" : nbx::to_string(outputs[0]).c_str());
    return 1;
  }
  try {
    session.run({{"x", nbx::Tensor::zeros({2, 3}, nbx::DType::int64)}});
    std::fprintf(stderr, "an int64 input was taken for float32\n");
    return 1;
  } catch (const nbx::Error& error) {
    std::printf("refused as it should be: %s\n", error.what());
  }
  std::printf("nbx %s: %s\n", nbx::version(), nbx::to_string(outputs[0]).c_str());
}
