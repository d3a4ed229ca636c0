// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace nbx {

// Generated at configure time from the op folders.
std::vector<Decls (*)()> all_decl_makers();
std::vector<const char*> all_decl_families();

namespace {

struct Registry {
  std::vector<const OpDecl*> ops;
  std::unordered_map<std::string, const OpDecl*> by_name;
  std::multimap<std::string, const OnnxImport*> imports;  // "domain/op"
  std::vector<Decls> storage;

  Registry() {
    const auto makers = all_decl_makers();
    const auto families = all_decl_families();
    for (size_t i = 0; i < makers.size(); ++i) {
      storage.push_back(makers[i]());
      for (OpDecl& d : storage.back()) {
        d.parsed = parse_schema(d.schema);
        d.family = families[i];
      }
    }
    std::set<std::string> ambiguous;
    const auto add_short = [&](const std::string& name, const OpDecl* op) {
      if (ambiguous.count(name)) return;
      const auto [it, fresh] = by_name.emplace(name, op);
      if (!fresh && it->second != op && short_names.count(name)) {
        by_name.erase(it);
        ambiguous.insert(name);
      } else if (fresh) {
        short_names.insert(name);
      }
    };
    for (const Decls& decls : storage) {
      for (const OpDecl& d : decls) {
        ops.push_back(&d);
        const auto [it, fresh] = by_name.emplace(d.parsed.full_name(), &d);
        require(fresh, Code::internal, "nbx defect: op {} is declared twice", d.parsed.full_name());
        for (const std::string& alias : d.aliases)
          require(by_name.emplace(alias, &d).second, Code::internal, "nbx defect: op name {} is declared twice", alias);
        for (const OnnxImport& import : d.imports) imports.emplace(import.domain + "/" + import.op, &import);
      }
    }
    for (const Decls& decls : storage) {
      for (const OpDecl& d : decls) {
        if (!d.parsed.overload.empty()) {
          add_short(d.parsed.name + "." + d.parsed.overload, &d);
          add_short(d.parsed.space + "::" + d.parsed.name, &d);
        }
        add_short(d.parsed.name, &d);
      }
    }
    std::sort(ops.begin(), ops.end(),
              [](const OpDecl* a, const OpDecl* b) { return a->parsed.full_name() < b->parsed.full_name(); });
  }

  std::set<std::string> short_names;
};

const Registry& registry() {
  static const Registry r;
  return r;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<const OpDecl*>& all_ops() { return registry().ops; }

const OpDecl* find_op(std::string_view name) {
  const auto& names = registry().by_name;
  const auto it = names.find(std::string(name));
  return it == names.end() ? nullptr : it->second;
}

const OpDecl& require_op(std::string_view name) {
  if (const OpDecl* op = find_op(name)) return *op;
  std::vector<std::pair<size_t, std::string>> near;
  for (const OpDecl* op : all_ops()) {
    const std::string full = op->parsed.full_name();
    const size_t distance = std::min(edit_distance(name, full), edit_distance(name, op->parsed.name));
    if (distance <= 3) near.emplace_back(distance, full);
  }
  std::sort(near.begin(), near.end());
  std::string hint;
  for (size_t i = 0; i < near.size() && i < 4; ++i) hint += (i ? ", " : "") + near[i].second;
  fail(Code::unsupported, "unknown op '{}'{}; `nbx ops` lists the {} known ones", name,
       hint.empty() ? "" : "; near names: " + hint, all_ops().size());
}

const OnnxImport* find_import(std::string_view domain, std::string_view op_type, int opset) {
  if (domain == "ai.onnx") domain = "";
  const auto [begin, end] = registry().imports.equal_range(std::string(domain) + "/" + std::string(op_type));
  for (auto it = begin; it != end; ++it)
    if (it->second->since <= opset && opset <= it->second->until) return it->second;
  return nullptr;
}

std::vector<std::string> imported_onnx_ops() {
  std::set<std::string> names;
  for (const auto& [key, import] : registry().imports)
    names.insert(import->domain.empty() ? import->op : import->domain + "::" + import->op);
  return {names.begin(), names.end()};
}

std::vector<std::string> missing_parts(const OpDecl& op) {
  std::vector<std::string> missing;
  if (op.schema.empty()) missing.push_back("schema");
  if (!op.infer) missing.push_back("infer");
  if (!op.cost) missing.push_back("cost");
  if (!op.keys) missing.push_back("keys");
  if (op.kernels.empty() && !op.has(kControl)) missing.push_back("kernels");
  for (const Kernel& k : op.kernels)
    if (!k.bind || k.name.empty()) missing.push_back("kernels");
  if (!op.oracle && !op.has(kControl)) missing.push_back("oracle");
  if (!op.samples) {
    missing.push_back("samples");
  } else {
    SampleSink sink;
    op.samples(sink);
    if (sink.samples().empty()) missing.push_back("samples");
  }
  return missing;
}

}  // namespace nbx
