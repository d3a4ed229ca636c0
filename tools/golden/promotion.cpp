// SPDX-License-Identifier: Apache-2.0
#include "golden/promotion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dtype/promotion.h"
#include "dtype/rules.h"
#include "golden/golden.h"

namespace {

using nbx::Category;
using nbx::Code;
using nbx::DType;
using nbx::Operand;
using nlohmann::json;

bool is_number_name(const std::string& text) { return text == "int" || text == "float" || text == "complex"; }

Operand number_of(const std::string& text) {
  if (text == "bool") return nbx::number(Category::boolean);
  if (text == "int") return nbx::number(Category::integral);
  return nbx::number(text == "float" ? Category::floating : Category::complex);
}

// "tensor" (with dims), "0d", "scalar": the words that the names of the forms are made of.
Operand operand_of(const std::string& word, const std::string& type) {
  if (word == "scalar") return number_of(type);
  return {nbx::parse_dtype(type), word == "0d" ? Operand::Kind::tensor_0d : Operand::Kind::tensor};
}

struct Form {
  std::string left, right;
};
Form form_of(const std::string& text) {
  const size_t cut = text.find('_');
  nbx::require(cut != std::string::npos, Code::file, "form '{}' is not LEFT_RIGHT", text);
  return {text.substr(0, cut), text.substr(cut + 1)};
}

// With a plain number these are other functions of the reference.
std::string row_name(const std::string& op, const Form& form) {
  if (op == "div" && form.left == "scalar") return "rdiv";
  if (op == "pow" && form.right == "scalar") return "pow.Tensor_Scalar";
  if (op == "clamp_min" && form.right == "scalar") return "clamp_min.Scalar";
  return op;
}

class Checker {
 public:
  PromotionReport report;

  // `compute` gives the dtypes as json, or throws where the reference raises.
  template <class Compute>
  void check(const std::string& what, const json& expected, const Compute& compute) {
    json got;
    std::string reason;
    try {
      got = compute();
    } catch (const nbx::Error& error) {
      if (error.code() != Code::dtype) throw;
      reason = error.what();
    }
    if (got == expected) {
      ++report.passed;
      return;
    }
    ++report.failed;
    report.lines.push_back(fmt::format("FAIL {}: expected {}, got {}{}", what, expected.dump(), got.dump(),
                                       reason.empty() ? "" : " (" + reason + ")"));
  }

  void op(const std::string& what, const std::string& row, const json& expected, std::vector<Operand> operands) {
    const nbx::OpRule* rule = nbx::find_op_rule(row);
    if (rule == nullptr) {
      ++report.skipped;
      report.lines.push_back(fmt::format("SKIP {}: nbx has no dtype rule for {}", what, row));
      return;
    }
    check(what, expected, [&]() -> json {
      const nbx::RuleResult out = nbx::apply_rule(*rule, operands);
      if (out.indices) return {nbx::name(out.result), "int64"};
      return nbx::name(out.result);
    });
  }
};

void check_tables(const json& data, Checker& checker) {
  for (const auto& [a, row] : data.at("promote_types").items())
    for (const auto& [b, expected] : row.items()) {
      const DType left = nbx::parse_dtype(a), right = nbx::parse_dtype(b);
      checker.check(fmt::format("promote_types({}, {})", a, b), expected,
                    [&]() -> json { return nbx::name(nbx::promote_types(left, right)); });
    }
  for (const auto& [a, targets] : data.at("can_cast").items())
    for (const auto& target : data.at("extended_dtypes")) {
      const std::string b = target.get<std::string>();
      const bool expected = std::find(targets.begin(), targets.end(), target) != targets.end();
      const DType from = nbx::parse_dtype(a), to = nbx::parse_dtype(b);
      checker.check(fmt::format("can_cast({}, {})", a, b), expected, [&]() -> json { return nbx::can_cast(from, to); });
    }
  for (const auto& [form_name, table] : data.at("result_type").items()) {
    const Form form = form_of(form_name);
    for (const auto& [a, row] : table.items())
      for (const auto& [b, expected] : row.items()) {
        const Operand left = operand_of(form.left, a), right = operand_of(form.right, b);
        checker.check(fmt::format("result_type {} ({}, {})", form_name, a, b), expected, [&]() -> json {
          return nbx::name(nbx::result_type({left, right}));
        });
      }
  }
}

void check_ops(const json& data, Checker& checker) {
  for (const auto& [op, forms] : data.at("ops_binary").items())
    for (const auto& [form_name, table] : forms.items()) {
      const Form form = form_of(form_name);
      for (const auto& [a, row] : table.items())
        for (const auto& [b, expected] : row.items())
          checker.op(fmt::format("{} {} ({}, {})", op, form_name, a, b), row_name(op, form), expected,
                     {operand_of(form.left, a), operand_of(form.right, b)});
    }
  for (const char* family : {"ops_unary", "ops_reduction"})
    for (const auto& [op, row] : data.at(family).items())
      for (const auto& [type, expected] : row.items())
        checker.op(fmt::format("{} {} ({})", family, op, type), op, expected, {Operand{nbx::parse_dtype(type)}});
}

// "full(int)", "arange(int,float)", "zeros"
void check_creation(const json& data, Checker& checker) {
  for (const auto& [call, expected] : data.at("creation").items()) {
    const size_t open = call.find('(');
    const std::string what = "creation " + call;
    if (open == std::string::npos) {
      checker.check(what, expected, []() -> json { return nbx::name(nbx::kDefaultFloat); });
      continue;
    }
    std::vector<Operand> numbers;
    std::string rest = call.substr(open + 1);
    while (!rest.empty()) {
      const size_t end = rest.find_first_of(",)");
      const std::string word = rest.substr(0, end);
      nbx::require(end != std::string::npos && (word == "bool" || is_number_name(word)), Code::file,
                   "creation '{}': '{}' is no number type", call, word);
      numbers.push_back(number_of(word));
      rest = rest.substr(end + 1);
    }
    checker.op(what, call.substr(0, open), expected, numbers);
  }
}

// A table that lost a part would pass without testing it.
void check_parts(const json& data, const std::string& file) {
  for (const char* part : {"promote_types", "can_cast", "extended_dtypes", "result_type", "ops_binary", "ops_unary",
                           "ops_reduction", "creation"})
    nbx::require(data.contains(part) && data[part].is_structured() && !data[part].empty(), Code::file,
                 "{}: part '{}' is missing or empty; nothing of it would be tested", file, part);
}

}  // namespace

PromotionReport check_promotion(const std::string& file, bool whole) {
  std::ifstream in(file);
  nbx::require(in.good() && std::filesystem::is_regular_file(file), Code::file, "{}: cannot be read as a file", file);
  Checker checker;
  try {
    const json data = json::parse(in);
    const std::string type = data.at("default_dtype").get<std::string>();
    nbx::require(nbx::parse_dtype(type) == nbx::kDefaultFloat, Code::file, "{}: default_dtype is {}, nbx has {}", file,
                 type, nbx::name(nbx::kDefaultFloat));
    if (whole) check_parts(data, file);
    check_tables(data, checker);
    check_ops(data, checker);
    check_creation(data, checker);
  } catch (const json::exception& error) {
    nbx::fail(Code::file, "{}: {}", file, error.what());
  }
  return checker.report;
}

int run_promotion(const std::string& file, bool whole) {
  const PromotionReport report = check_promotion(file, whole);
  for (const std::string& line : report.lines) fmt::print("{}\n", line);
  fmt::print("{} passed, {} failed, {} skipped\n", report.passed, report.failed, report.skipped);
  return report.failed == 0 ? 0 : 1;
}

int golden_promotion(int argc, char** argv) {
  if (argc < 1) {
    fmt::print(stderr, "nbx-golden: error: promotion: FILE is missing (a promotion.json)\n");
    return 2;
  }
  try {
    return run_promotion(argv[argc - 1], true);
  } catch (const nbx::Error& error) {
    fmt::print(stderr, "nbx-golden: error: {}\n", error.what());
    return 2;
  }
}
