// SPDX-License-Identifier: Apache-2.0
#include "golden/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "golden/golden.h"
#include "io/safetensors.h"
#include "ops/eager.h"

namespace nbx {

namespace {

using Json = nlohmann::json;

struct Outcome {
  enum class Kind { passed, failed, skipped } kind = Kind::passed;
  std::string text;
};
Outcome skip(std::string why) { return {Outcome::Kind::skipped, std::move(why)}; }
Outcome wrong(std::string why) { return {Outcome::Kind::failed, std::move(why)}; }

std::string text_of(const Json& about, const char* field) {
  const Json& text = about.at(field);
  require(text.is_string(), Code::file, "'{}' is {}, not a text", field, text.dump());
  return text.get_ref<const std::string&>();
}

Ints ints_of(const Json& list) {
  Ints out;
  for (const Json& v : list) out.push_back(v.get<int64_t>());
  return out;
}
Shape shape_of(const Json& about) {
  const Ints sizes = ints_of(about.at("sizes"));
  return Shape(sizes.begin(), sizes.end());
}
Strides strides_of(const Json& about) {
  const Ints strides = ints_of(about.at("strides"));
  return Strides(strides.begin(), strides.end());
}

// An operand, and where its storage begins for the offsets of the data.
struct Operand {
  Tensor tensor;
  int64_t origin = 0;
};

struct Case {
  std::string op, overload, family, dtype;
  std::string beyond;  // why nbx has no such operand, where it has none
  const OpDecl* decl = nullptr;
  std::vector<Operand> operands;
  SampleKeywords keywords;
};

class Data {
 public:
  explicit Data(const std::string& folder) : folder_(folder) {
    const std::string path = folder + "/tolerances.json";
    std::ifstream in(path);
    require(in.good(), Code::file, "{}: cannot be read", path);
    try {
      tolerances_ = Json::parse(in);
      require(tolerances_.is_object(), Code::file, "{}: is no object of ops", path);
    } catch (const Json::exception& error) {
      fail(Code::file, "{}: {}", path, error.what());
    }
  }

  // The flat backing storage; pairs of numbers become complex ones.
  Tensor flat(const std::string& family, const std::string& key, DType dtype) {
    auto at = families_.find(family);
    if (at == families_.end())
      at = families_.emplace(family, read_safetensors(fmt::format("{}/{}.safetensors", folder_, family))).first;
    const Tensor* found = at->second.tensors.find(key);
    require(found != nullptr, Code::file, "{}.safetensors has no tensor '{}'", family, key);
    if (!is_complex(dtype)) {
      require(found->dtype() == dtype, Code::file, "{}.safetensors: '{}' is {}, the case says {}", family, key,
              describe(*found), name(dtype));
      return found->view({found->numel()});
    }
    require(found->dtype() == (dtype == DType::complex64 ? DType::float32 : DType::float64) && found->rank() > 0 &&
                found->dim(-1) == 2,
            Code::file, "{}.safetensors: '{}' is {}, which is no {}", family, key, describe(*found), name(dtype));
    const Tensor own = found->clone();  // aligned
    return Tensor(own.storage(), dtype, {found->numel() / 2}, {1}, 0);
  }

  Operand operand(const std::string& family, const Json& about) {
    const Tensor base = flat(family, text_of(about, "key"), parse_dtype(text_of(about, "dtype")));
    Operand out{base.as_strided(shape_of(about), strides_of(about), base.offset() + about.at("offset").get<int64_t>()),
                base.offset()};
    if (!about.contains("prep")) return out;
    for (const Json& step : about.at("prep")) {
      const std::string what = step.at(0).get<std::string>();
      if (what == "flip") {
        out.tensor = out.tensor.flip(ints_of(step.at(1)));
      } else if (what == "contiguous") {
        out.tensor = out.tensor.clone();
      } else {
        require(what == "view", Code::file, "the step '{}' is not known: flip, contiguous, view", what);
        const Ints sizes = ints_of(step.at(1));
        out.tensor = out.tensor.view(Shape(sizes.begin(), sizes.end()));
      }
    }
    if (out.tensor.storage() != base.storage()) out.origin = 0;
    return out;
  }

  // A result: dense, in logical order.
  Tensor result(const std::string& family, const std::string& key, DType dtype, const Shape& shape) {
    const Tensor base = flat(family, key, dtype);
    require(base.numel() == numel(shape), Code::file, "{}.safetensors: '{}' has {} elements, the result {}", family,
            key, base.numel(), to_string(shape));
    return base.view(shape);
  }

  GoldenBound bound(const Case& c, DType dtype) const {
    const bool wide = dtype == DType::float64 || dtype == DType::complex128;
    const std::string type = wide || dtype == DType::complex64 ? "float32" : name(dtype);
    const auto op = tolerances_.find(c.op);
    if (op == tolerances_.end()) return {};  // comparisons, and what moves data
    auto entry = c.family == "promotion" ? op->find(type + ".promotion") : op->end();
    if (entry == op->end()) entry = op->find(type);
    if (entry == op->end()) entry = op->find(type + ".promotion");
    if (entry == op->end()) return {};
    const Json& suggest = entry->at("suggest");
    const std::string kind = text_of(suggest, "kind");
    GoldenBound out;
    if (kind == "exact") return out;
    require(kind == "ulp" || kind == "nrm", Code::file, "tolerances.json: {} {}: the kind '{}' is not known", c.op,
            type, kind);
    static const std::set<std::string> elementwise = {"activation", "binary",    "unary", "ternary",
                                                      "creation",   "promotion", "cast"};
    out.kind = kind == "ulp" ? GoldenBound::Kind::ulp : GoldenBound::Kind::nrm;
    if (wide) {
      const bool single = elementwise.count(c.family) > 0;
      out.kind = single ? GoldenBound::Kind::ulp : GoldenBound::Kind::nrm;
      out.ulp = 2;
      out.nrm = 1e-14;
      return out;
    }
    if (suggest.contains("floor")) out.floor = suggest.at("floor").get<double>();
    (kind == "ulp" ? out.ulp : out.nrm) = suggest.at(kind).get<double>();
    return out;
  }

 private:
  std::string folder_;
  Json tolerances_;
  std::map<std::string, Safetensors> families_;
};

double float_of(const Json& v) {
  if (v.is_number()) return v.get<double>();
  const std::string text = text_of(v, "float");
  require(text == "nan" || text == "inf" || text == "-inf", Code::file, "the float '{}' is not known", text);
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

SampleArg list_of(const Json& list, const Param* param) {
  const bool numbers =
      (param && param->type == ParamType::numbers) ||
      std::any_of(list.begin(), list.end(), [](const Json& v) { return v.is_number_float() || v.is_object(); });
  if (numbers) {
    Doubles out;
    for (const Json& v : list) out.push_back(float_of(v));
    return Value(std::move(out));
  }
  Ints out;
  for (const Json& v : list) out.push_back(v.is_boolean() ? int64_t{v.get<bool>()} : v.get<int64_t>());
  return Value(std::move(out));
}

SampleArg argument(const Json& v, const Param* param, const std::vector<Operand>& operands) {
  const auto tensor = [&](const Json& i) {
    const auto at = i.get<uint64_t>();
    require(at < operands.size(), Code::file, "tensor {} of {}", at, operands.size());
    return operands[at].tensor;
  };
  if (v.is_null()) return none;
  if (v.is_boolean()) return val(v.get<bool>());
  if (v.is_number_integer()) return val(v.get<int64_t>());
  if (v.is_number()) return val(v.get<double>());
  if (v.is_string()) return Value(v.get<std::string>());
  if (v.is_array()) return list_of(v, param);
  if (v.contains("tensor")) return tensor(v.at("tensor"));
  if (v.contains("dtype")) return val(parse_dtype(text_of(v, "dtype")));
  if (v.contains("float")) return val(float_of(v));
  if (v.contains("complex"))
    return Value(std::complex<double>(float_of(v.at("complex").at(0)), float_of(v.at("complex").at(1))));
  require(v.contains("tensors"), Code::file, "the argument {} is not known", v.dump());
  std::vector<Tensor> out;
  for (const Json& i : v.at("tensors")) out.push_back(i.is_null() ? Tensor() : tensor(i));
  return out;
}

// Null: nbx does not declare it. A name without an overload is also found where there is one overload only.
const OpDecl* declaration(const std::string& op, const std::string& overload) {
  const std::string full = "aten::" + op + (overload == "default" ? "" : "." + overload);
  const OpDecl* found = find_op(full);
  const bool other = found && found->parsed.name == op && overload == "default" && !found->parsed.overload.empty();
  return other ? nullptr : found;
}

// The result that holds indices which are free among ties; -1: none.
int free_indices(const Case& c, const Json& args) {
  const auto on = [&](const char* flag) {
    const auto at = args.find(flag);
    return at != args.end() && at->is_boolean() && at->get<bool>();
  };
  if (c.op == "topk") return 1;
  if (c.op == "sort" && !on("stable")) return 1;
  return c.op == "argsort" && !on("stable") ? 0 : -1;
}

bool counts_zero_signs(const Case& c) {
  static const std::set<std::string> families = {"shape", "views", "cast", "indexing"};
  static const std::set<std::string> ops = {"neg", "abs", "ceil", "floor", "round", "trunc", "where", "masked_fill"};
  return families.count(c.family) > 0 || ops.count(c.op) > 0;
}

std::string result_differs(const Case& c, const Json& about, const Tensor& got, const GoldenWant& want) {
  if (got.dtype() != want.out.dtype() || got.shape() != want.out.shape())
    return fmt::format("is {}, should be {}", describe(got), describe(want.out));
  if (about.contains("alias")) {
    const auto i = about.at("alias").get<uint64_t>();
    require(i < c.operands.size(), Code::file, "alias of tensor {} of {}", i, c.operands.size());
    const Operand& from = c.operands[i];
    if (got.storage() != from.tensor.storage()) return fmt::format("is a copy, should be a view of tensor {}", i);
    const Strides strides = strides_of(about);
    const int64_t offset = about.at("offset").get<int64_t>();
    if (got.strides() != strides || got.offset() - from.origin != offset)
      return fmt::format("is a view with strides {} and offset {}, should be {} and {}",
                         to_string(Shape(got.strides())), got.offset() - from.origin, to_string(Shape(strides)),
                         offset);
  }
  return golden_difference(got, want);
}

GoldenWant wanted(Data& data, const Case& c, const Json& about, bool discontinuous) {
  const DType dtype = parse_dtype(text_of(about, "dtype"));
  const Shape shape = shape_of(about);
  GoldenWant want;
  want.out = data.result(c.family, text_of(about, "key"), dtype, shape);
  want.signed_zero = counts_zero_signs(c);
  if (!is_integral(dtype, true)) want.bound = data.bound(c, dtype);
  const auto oracle = about.find("oracle");
  if (oracle == about.end() || !oracle->is_object()) return want;
  want.oracle =
      data.result(c.family, text_of(*oracle, "key"), is_complex(dtype) ? DType::complex128 : DType::float64, shape);
  want.class_diff = oracle->contains("class_diff");
  want.discontinuous = discontinuous;
  return want;
}

// Reads everything that the case says before anything is called: what fails here is the data's fault.
Case read_case(Data& data, const Json& about, const char* file_of_errors) {
  Case c;
  c.op = text_of(about, "op");
  c.family = file_of_errors ? file_of_errors : text_of(about, "family");
  if (!about.at("dtype").is_null()) c.dtype = text_of(about, "dtype");  // a call that makes its own tensor has none
  c.overload = c.op == "getitem" ? "default" : text_of(about, "overload");
  c.decl = c.op == "getitem" ? nullptr : declaration(c.op, c.overload);
  if (!c.decl) return c;
  for (const Json& t : about.at("tensors")) {
    const size_t rank = t.at("sizes").size();
    if (rank > static_cast<size_t>(kMaxRank)) {
      c.beyond = fmt::format("an operand of {} dims, nbx has at most {}", rank, kMaxRank);
      return c;
    }
    c.operands.push_back(data.operand(c.family, t));
  }
  const Schema& schema = c.decl->parsed;
  for (const auto& [param, v] : about.at("args").items()) {
    const int i = schema.find(param);
    c.keywords.emplace_back(param, argument(v, i < 0 ? nullptr : &schema.params[static_cast<size_t>(i)], c.operands));
  }
  return c;
}

Outcome not_run(const Case& c) {
  if (!c.beyond.empty()) return skip(c.beyond);
  if (c.op == "getitem") return skip("getitem is Python's indexing, no op");
  return skip(fmt::format("aten::{}{} is not declared", c.op, c.overload == "default" ? "" : "." + c.overload));
}

Outcome refused(const Case& c, const Error& e) {
  const auto& types = c.decl->dtypes;
  const bool declared = std::any_of(types.begin(), types.end(), [&](DType t) { return c.dtype == name(t); });
  const std::string op = c.decl->parsed.full_name();
  if (e.code() == Code::dtype && !declared) return skip(fmt::format("{} is not declared for {}", op, c.dtype));
  if (e.code() != Code::unsupported) return wrong(e.what());
  const std::string text = e.what();
  return skip(fmt::format("{} {}: {}", op, c.dtype, text.substr(text.rfind(": ") + 1)));
}

Outcome run_case(Data& data, const Json& about) {
  const Case c = read_case(data, about, nullptr);
  if (!c.decl || !c.beyond.empty()) return not_run(c);
  const Json& out = about.at("out");
  const bool discontinuous = about.value("discontinuous", false);
  std::vector<GoldenWant> wants;
  for (const Json& o : out) wants.push_back(wanted(data, c, o, discontinuous));
  std::vector<Tensor> got;
  try {
    got = run_call(make_call(*c.decl, {}, c.keywords));
  } catch (const Error& e) {
    return refused(c, e);
  }
  if (got.size() != wants.size()) return wrong(fmt::format("{} results, should be {}", got.size(), wants.size()));
  const Json& args = about.at("args");
  const int free = free_indices(c, args);
  for (size_t i = 0; i < got.size(); ++i) {
    std::string text;
    if (static_cast<int>(i) == free && got[i].dtype() == wants[i].out.dtype() &&
        got[i].shape() == wants[i].out.shape() && got[i].numel() > 0) {
      const Tensor& input = c.operands.at(0).tensor;
      const auto dim = args.value("dim", int64_t{-1});
      // argsort has no values: what the reference's indices take is what these must take.
      text = free == 1 ? selection_difference(input, dim, got[i], wants[0].out)
                       : selection_difference(input, dim, got[i], selected_values(input, dim, wants[i].out));
    } else {
      text = result_differs(c, out.at(i), got[i], wants[i]);
    }
    if (!text.empty()) return wrong(got.size() == 1 ? text : fmt::format("result {}: {}", i, text));
  }
  return {};
}

Outcome run_error(Data& data, const Json& about) {
  if (!about.at("bound").get<bool>()) return skip("an error of binding in Python: the type system rules it out");
  const Case c = read_case(data, about, "errors");
  if (!c.decl || !c.beyond.empty()) return not_run(c);
  const std::string type = text_of(about.at("error"), "type"), message = text_of(about.at("error"), "message");
  const std::string should = fmt::format("should be {}: {}", type, message);
  try {
    run_call(make_call(*c.decl, {}, c.keywords));
  } catch (const Error& e) {
    if (e.code() == Code::internal) return wrong(fmt::format("{}; {}", e.what(), should));
    if (e.code() == Code::unsupported && type != "NotImplementedError") return refused(c, e);
    const bool outside = message.find("out of range") != std::string::npos ||
                         message.find("out of bounds") != std::string::npos;  // what the reference calls so
    if (type == "IndexError" && outside && e.code() != Code::index)
      return wrong(fmt::format("the error is of kind {} ({}), {}", name(e.code()), e.what(), should));
    return {};
  }
  return wrong("no error, " + should);
}

void run_file(Data& data, const OpsOptions& o, const char* file, Outcome (*run)(Data&, const Json&),
              OpsReport& report) {
  const std::string path = o.folder + "/" + file;
  std::ifstream in(path);
  require(in.good(), Code::file, "{}: cannot be read", path);
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    Outcome outcome;
    std::string id, op;
    try {
      const Json about = Json::parse(line);
      id = text_of(about, "id");
      if (id.find(o.only) == std::string::npos) continue;
      op = text_of(about, "op");
      if (op != "getitem" && text_of(about, "overload") != "default") op += "." + text_of(about, "overload");
      outcome = run(data, about);
    } catch (const Json::exception& error) {
      fail(Code::file, "{}:{}: {}", path, number, error.what());
    } catch (const Error& error) {
      fail(error.code() == Code::internal ? Code::internal : Code::file, "{}:{}: {}", path, number, error.what());
    }
    OpsCounts& of_op = report.by_op[op];
    for (OpsCounts* counts : {&report.total, &of_op})
      ++(outcome.kind == Outcome::Kind::passed   ? counts->passed
         : outcome.kind == Outcome::Kind::failed ? counts->failed
                                                 : counts->skipped);
    if (outcome.kind == Outcome::Kind::failed) report.lines.push_back(fmt::format("FAIL {}: {}", id, outcome.text));
    if (outcome.kind == Outcome::Kind::skipped) ++report.skipped_because[outcome.text];
  }
}

}  // namespace

OpsReport check_ops(const OpsOptions& options) {
  Data data(options.folder);
  OpsReport report;
  run_file(data, options, "manifest.jsonl", run_case, report);
  run_file(data, options, "errors.jsonl", run_error, report);
  require(!report.by_op.empty(), Code::value, "{}: no case{}", options.folder,
          options.only.empty() ? std::string() : fmt::format(" has '{}' in its id", options.only));
  return report;
}

}  // namespace nbx

int golden_ops(int argc, char** argv) {
  constexpr const char* kUsage = "usage: nbx-golden ops DIR [--only PART] [--verbose]";
  nbx::OpsOptions o;
  for (int i = 0; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--verbose") {
      o.verbose = true;
    } else if (arg == "--only") {
      nbx::require(++i < argc, nbx::Code::value, "--only needs a value; {}", kUsage);
      o.only = argv[i];
    } else {
      nbx::require(o.folder.empty() && arg.rfind("--", 0) != 0, nbx::Code::value, "unexpected argument '{}'; {}", arg,
                   kUsage);
      o.folder = arg;
    }
  }
  nbx::require(!o.folder.empty(), nbx::Code::value, "{}", kUsage);
  const nbx::OpsReport report = nbx::check_ops(o);
  for (const std::string& line : report.lines) fmt::print("{}\n", line);
  for (const auto& [reason, count] : report.skipped_because) fmt::print("skipped {}: {}\n", count, reason);
  if (o.verbose)
    for (const auto& [op, n] : report.by_op)
      fmt::print("{:40} {:5} passed {:5} failed {:5} skipped\n", op, n.passed, n.failed, n.skipped);
  fmt::print("{} passed, {} failed, {} skipped\n", report.total.passed, report.total.failed, report.total.skipped);
  return report.total.failed == 0 ? 0 : 1;
}
