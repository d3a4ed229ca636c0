// SPDX-License-Identifier: Apache-2.0
// The subcommands of `nbx`, one file each. Exit codes: 0; 1 the work failed; 2 bad input (files, flags, shapes); 3 a
// defect of nbx; 130 interrupted.
#pragma once
#include <nbx/session.h>

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nbx::command {

using Json = nlohmann::ordered_json;

// What the flags of each subcommand say (read in main.cpp: one file alone pays for the flag parser), and its work.
struct RunOptions {
  std::string model, output, profile, prefer;
  std::vector<std::string> inputs;
  int threads = 0;
  int repeat = 0;
  uint64_t memory_limit = 0;
  bool json = false, no_fuse = false, table = false;
};
int run(const RunOptions& options);

struct InspectOptions {
  std::string model, save;
  std::vector<std::string> shapes;
  bool json = false, text = false, plan = false, launches = false;
};
int inspect(const InspectOptions& options);

struct OpsOptions {
  std::string filter;
  bool json = false, markdown = false;
};
int ops(const OpsOptions& options);

int devices(bool json);
int bench_machine(int threads, bool json);

// One line an op and kernel, with percentages of the machine's limits, which it measures.
void print_profile(const std::vector<ProfileEvent>& events, int threads);

// Progress for people: to the terminal's stderr only, on one line that is wiped at the end.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool on_;
  size_t shown_ = 0;
};

// While it lives, Ctrl-C cancels the session's run instead of ending the process; `interrupted` tells afterwards.
class Interruptible {
 public:
  explicit Interruptible(Session& session);
  ~Interruptible();
  static bool interrupted();
};

// Calls `work`; its errors name the model's file.
void with_file(const std::string& file, const std::function<void()>& work);

std::string human_bytes(int64_t bytes);  // "12.3 MiB"
double now_ms();
Json json_of(const ValueInfo& info);
// Rows under a header, columns aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace nbx::command
