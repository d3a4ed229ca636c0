// SPDX-License-Identifier: Apache-2.0
// The demo's three jobs. Each prints its answers and its time.
#pragma once
#include <string>
#include <vector>

namespace nbx::examples {

struct Paths {
  std::string models;  // where the model packages are installed
  std::string data;    // pictures, sounds, texts
  std::string out;     // what the demo writes
  int threads = 0;
};

void show_file_types(const Paths& paths, const std::vector<std::string>& files);
void show_speech(const Paths& paths, const std::string& sound);
void show_page(const Paths& paths, const std::string& picture);

// Milliseconds since an arbitrary start.
double now_ms();
std::string join(const std::string& folder, const std::string& name);

}  // namespace nbx::examples
