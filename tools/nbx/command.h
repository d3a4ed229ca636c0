// SPDX-License-Identifier: Apache-2.0
// The subcommands of `nbx`, one file each. Exit codes: 0; 1 the work failed; 2 bad input (files, flags, shapes); 3 a
// defect of nbx; 130 interrupted.
#pragma once
#include <nbx/session.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace nbx::command {

using Json = nlohmann::ordered_json;
using Action = std::function<int()>;

// Each adds itself to the app and sets `action` when it is chosen.
void add_run(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);

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
