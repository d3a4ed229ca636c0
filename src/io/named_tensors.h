// SPDX-License-Identifier: Apache-2.0
// Tensors under names, in the order of the file they come from or go to. Names are unique.
#pragma once
#include <nbx/tensor.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nbx {

class NamedTensors {
 public:
  using Entry = std::pair<std::string, Tensor>;

  NamedTensors() = default;
  NamedTensors(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) add(entry.first, entry.second);
  }

  void add(std::string name, Tensor tensor);        // error (value) when the name is there already
  const Tensor* find(std::string_view name) const;  // null when absent
  const Tensor& at(std::string_view name) const;    // error (value) naming the name and what is there
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const Entry& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // "a, b, c", at most `most` names, then how many more.
  std::string names(size_t most = 12) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace nbx
