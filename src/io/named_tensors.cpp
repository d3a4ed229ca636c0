// SPDX-License-Identifier: Apache-2.0
#include "io/named_tensors.h"

#include "base/check.h"
#include "io/quote.h"

namespace nbx {

void NamedTensors::add(std::string name, Tensor tensor) {
  const bool fresh = index_.emplace(name, entries_.size()).second;
  require(fresh, Code::value, "the tensor name {} is used twice", quote(name));
  entries_.emplace_back(std::move(name), std::move(tensor));
}

const Tensor* NamedTensors::find(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &entries_[it->second].second;
}

const Tensor& NamedTensors::at(std::string_view name) const {
  const Tensor* tensor = find(name);
  require(tensor != nullptr, Code::value, "there is no tensor {}; there are: {}", quote(name), names());
  return *tensor;
}

std::string NamedTensors::names(size_t most) const {
  if (entries_.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < entries_.size() && i < most; ++i) text += (i > 0 ? ", " : "") + quote(entries_[i].first);
  if (entries_.size() > most) text += fmt::format(" and {} more", entries_.size() - most);
  return text;
}

}  // namespace nbx
