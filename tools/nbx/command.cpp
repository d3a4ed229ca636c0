// SPDX-License-Identifier: Apache-2.0
#include "nbx/command.h"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>

namespace nbx::command {

namespace {

std::atomic<Session*> running{nullptr};
std::atomic<bool> was_interrupted{false};

void on_interrupt(int) {
  if (was_interrupted.exchange(true)) _exit(130);  // a second one: at once
  if (Session* s = running.load()) s->cancel();    // sets one atomic flag
}

}  // namespace

Progress::Progress() : on_(isatty(2) == 1) {}

void Progress::show(const std::string& text) {
  if (!on_) return;
  std::string line = "\r" + text;
  if (text.size() < shown_) line.append(shown_ - text.size(), ' ');
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  shown_ = text.size();
}

void Progress::clear() {
  if (!on_ || shown_ == 0) return;
  std::fprintf(stderr, "\r%s\r", std::string(shown_, ' ').c_str());
  std::fflush(stderr);
  shown_ = 0;
}

Interruptible::Interruptible(Session& session) {
  running = &session;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}
Interruptible::~Interruptible() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  running = nullptr;
}
bool Interruptible::interrupted() { return was_interrupted; }

void with_file(const std::string& file, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    const std::string what = e.what();
    if (what.find(file) != std::string::npos) throw;
    throw Error(e.code(), file + ": " + what);
  } catch (const std::bad_alloc&) {
    throw Error(Code::budget, file + ": out of memory");
  } catch (const std::length_error&) {
    throw Error(Code::budget, file + ": out of memory: a table exceeds what can be addressed");
  }
}

std::string human_bytes(int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(bytes);
  size_t u = 0;
  while (v >= 1024 && u + 1 < std::size(units)) {
    v /= 1024;
    ++u;
  }
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", v, units[u]);
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json json_of(const ValueInfo& info) {
  Json j;
  j["name"] = info.name;
  j["dtype"] = info.dtype ? Json(nbx::name(*info.dtype)) : Json(nullptr);
  if (!info.dims) {
    j["shape"] = nullptr;
    return j;
  }
  j["shape"] = Json::array();
  for (const auto& d : *info.dims) {
    if (d.extent >= 0)
      j["shape"].push_back(d.extent);
    else if (!d.symbol.empty())
      j["shape"].push_back(d.symbol);
    else
      j["shape"].push_back(nullptr);
  }
  return j;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += c + 1 == row.size() ? row[c] : row[c] + std::string(width[c] - row[c].size() + 2, ' ');
    out += line + "\n";
  }
  return out;
}

}  // namespace nbx::command
