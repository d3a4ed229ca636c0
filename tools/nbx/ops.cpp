// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

#include "nbx/command.h"
#include "ops/registry.h"

namespace nbx::command {

namespace {

std::string joined(const std::vector<std::string>& list, const char* with = ", ") {
  std::string out;
  for (const auto& s : list) out += (out.empty() ? "" : with) + s;
  return out;
}

std::string escaped(std::string text) {
  for (size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.insert(i, "\\");
  return text;
}

struct Row {
  const OpDecl* op;
  std::vector<std::string> kernels, imports, dtypes, missing;
};

Row row_of(const OpDecl& op) {
  Row r{&op, {}, {}, {}, missing_parts(op)};
  for (const Kernel& k : op.kernels) r.kernels.push_back(k.name);
  std::set<std::string> onnx;
  for (const OnnxImport& i : op.imports) onnx.insert(i.op);
  r.imports.assign(onnx.begin(), onnx.end());
  for (const DType d : op.dtypes) r.dtypes.push_back(name(d));
  return r;
}

}  // namespace

int ops(const OpsOptions& o) {
  std::vector<Row> rows;
  for (const OpDecl* op : all_ops())
    if (o.filter.empty() || op->parsed.full_name().find(o.filter) != std::string::npos) rows.push_back(row_of(*op));
  if (o.json) {
    Json list = Json::array();
    for (const Row& r : rows) {
      Json j;
      j["name"] = r.op->parsed.full_name();
      j["schema"] = r.op->schema;
      j["family"] = r.op->family;
      j["kernels"] = r.kernels;
      j["dtypes_tested"] = r.dtypes;
      j["onnx"] = r.imports;
      j["aliases"] = r.op->aliases;
      j["source"] = r.op->source;
      j["parts"] = {{"schema", !r.op->schema.empty()},    {"infer", r.op->infer != nullptr},
                    {"cost", r.op->cost != nullptr},      {"keys", r.op->keys != nullptr},
                    {"kernels", !r.op->kernels.empty()},  {"oracle", r.op->oracle != nullptr},
                    {"samples", r.op->samples != nullptr}};
      j["missing"] = r.missing;
      j["control_flow"] = r.op->has(kControl);
      list.push_back(std::move(j));
    }
    fmt::print("{}\n", list.dump(1));
    return 0;
  }
  if (o.markdown) {
    fmt::print("# Ops\nMade by `nbx ops --markdown` from the declarations; do not edit. {} ops.\n\n", rows.size());
    fmt::print("| schema | family | CPU kernels | tested dtypes | ONNX | source |\n|---|---|---|---|---|---|\n");
    for (const Row& r : rows)
      fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", escaped(r.op->schema), r.op->family, joined(r.kernels),
                 joined(r.dtypes), joined(r.imports), escaped(r.op->source));
    return 0;
  }
  std::vector<std::vector<std::string>> lines{{"op", "family", "parts", "kernels", "onnx"}};
  for (const Row& r : rows)
    lines.push_back({r.op->parsed.full_name(), r.op->family,
                     r.missing.empty() ? "complete" : "lacks " + joined(r.missing),
                     r.op->has(kControl) ? "(control flow)" : joined(r.kernels), joined(r.imports)});
  fmt::print("{}{} ops, {} ONNX node types\n", table(lines), rows.size(), imported_onnx_ops().size());
  return 0;
}

}  // namespace nbx::command
