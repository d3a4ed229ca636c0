// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "backend/cpu/targets.h"
#include "nbx/command.h"

namespace nbx::command {

namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

int devices(bool json) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const auto targets = cpu_targets();
  if (json) {
    Json j = Json::array();
    j.push_back({{"name", "cpu"},
                 {"model", cpu_model()},
                 {"cores", cores},
                 {"memory_bytes", memory},
                 {"simd_targets", targets},
                 {"simd_target", cpu_target()}});
    j.push_back({{"name", "null"}, {"model", "plans and records, computes nothing"}});
    fmt::print("{}\n", j.dump(1));
    return 0;
  }
  std::string list;
  for (const auto& t : targets) list += (list.empty() ? "" : ", ") + t;
  fmt::print("cpu   {}, {} cores for this process, {} memory, SIMD {} (compiled and possible here: {})\n", cpu_model(),
             cores, human_bytes(memory), cpu_target(), list);
  fmt::print("null  plans and records, computes nothing\n");
  return 0;
}

}  // namespace nbx::command
