// SPDX-License-Identifier: Apache-2.0
// What a user's first program does: link the installed library, call it, and get an error as an exception.
#include <nbx/tensor.h>
#include <nbx/version.h>

#include <cstdio>

int main() {
  const nbx::Tensor x = nbx::Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const nbx::Tensor column = x.transpose(0, 1).contiguous().select(0, 1);  // 2, 5
  const std::vector<double> values = column.to_doubles();
  if (values != std::vector<double>{2, 5}) return 1;
  try {
    x.view({4, 2});
    return 1;
  } catch (const nbx::Error& error) {
    if (error.code() != nbx::Code::shape) return 1;
  }
  std::printf("nbx %s: %s\n", nbx::version(), nbx::to_string(x).c_str());
}
