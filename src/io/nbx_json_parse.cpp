// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/nbx_json_value.h"
#include "io/quote.h"

namespace nbx {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 200;          // of JSON; a body in a body costs about six levels
constexpr int64_t kMaxValues = 1'500'000;  // of JSON, keys included: about 100 MB as a tree
constexpr int64_t kMaxFile = int64_t{1} << 30;

// Builds the tree, with bounds on depth and size, and no key twice. The library's own callback form goes through an
// object again for every element of it: minutes for a large file.
class Tree final : public nlohmann::json_sax<Json> {
 public:
  explicit Tree(const std::string& path) : path_(path) {}
  Json root;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& text) override {
    count();
    const auto [place, fresh] = open_.back()->get_ref<Json::object_t&>().emplace(text, nullptr);
    require(fresh, Code::file, "{}: the key {} is given twice in one object", path_, quote(text));
    value_ = &place->second;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    fail(Code::file, "{}: no valid JSON: {}", path_, quote(error.what(), 200));
  }

 private:
  void count() { require(++values_ <= kMaxValues, Code::file, "{}: more than {} values", path_, kMaxValues); }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  Json* place(Json value) {
    count();
    Json* at = &root;
    if (!open_.empty() && open_.back()->is_object()) at = value_;
    if (!open_.empty() && open_.back()->is_array()) {
      auto& list = open_.back()->get_ref<Json::array_t&>();
      list.emplace_back();
      at = &list.back();
    }
    *at = std::move(value);
    return at;
  }
  bool open(Json value) {
    require(open_.size() < kMaxDepth, Code::file, "{}: nested more than {} levels deep", path_, kMaxDepth);
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& path_;
  std::vector<Json*> open_;
  Json* value_ = nullptr;  // of the key read last
  int64_t values_ = 0;
};

}  // namespace

std::string shown(const Json& json) { return quote(json.dump(-1, ' ', true, Json::error_handler_t::replace)); }

Json parse_json(const FileBytes& file) {
  require(file->size() <= kMaxFile, Code::file,
          "{}: {} bytes; a graph has at most {} (weights belong into a safetensors file)", file->path(), file->size(),
          kMaxFile);
  Tree tree(file->path());
  const auto* text = reinterpret_cast<const char*>(file->data());
  Json::sax_parse(text, text + file->size(), &tree);
  return std::move(tree.root);
}

}  // namespace nbx
