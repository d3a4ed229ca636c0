// SPDX-License-Identifier: Apache-2.0
// Every declaration, walked: complete, and every sample x dtype x kernel x CPU target x thread count right by its
// oracle, with the same bits for every thread count.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/targets.h"
#include "facts/profile.h"
#include "ops/compare.h"
#include "ops/eager.h"

namespace nbx {
namespace {

TEST(Declarations, AreAllComplete) {
  for (const OpDecl* op : all_ops()) {
    const auto missing = missing_parts(*op);
    std::string text;
    for (const auto& m : missing) text += m + " ";
    EXPECT_TRUE(missing.empty()) << op->parsed.full_name() << " lacks: " << text;
  }
}

TEST(Declarations, TheWalkSeesEveryPartThatIsTakenAway) {
  ASSERT_FALSE(all_ops().empty());
  const auto whole = std::find_if(all_ops().begin(), all_ops().end(),
                                  [](const OpDecl* op) { return !op->has(kControl) && missing_parts(*op).empty(); });
  ASSERT_NE(whole, all_ops().end());
  const auto lacks = [&](const char* part, auto&& take_away) {
    OpDecl copy = **whole;
    take_away(copy);
    const auto missing = missing_parts(copy);
    return std::count(missing.begin(), missing.end(), part) > 0;
  };
  EXPECT_TRUE(lacks("schema", [](OpDecl& d) { d.schema.clear(); }));
  EXPECT_TRUE(lacks("infer", [](OpDecl& d) { d.infer = nullptr; }));
  EXPECT_TRUE(lacks("cost", [](OpDecl& d) { d.cost = nullptr; }));
  EXPECT_TRUE(lacks("keys", [](OpDecl& d) { d.keys = nullptr; }));
  EXPECT_TRUE(lacks("kernels", [](OpDecl& d) { d.kernels.clear(); }));
  EXPECT_TRUE(lacks("oracle", [](OpDecl& d) { d.oracle = nullptr; }));
  EXPECT_TRUE(lacks("samples", [](OpDecl& d) { d.samples = nullptr; }));
  EXPECT_TRUE(lacks("samples", [](OpDecl& d) { d.samples = [](SampleSink&) {}; }));
}

SampleArg converted(SampleArg arg, DType dtype) {
  const auto convert = [&](Tensor& t) {
    if (!t.defined() || t.dtype() != DType::float32 || dtype == DType::float32) return;
    // The layout is part of the sample.
    Tensor flat = t.contiguous().to(dtype);
    if (t.is_contiguous()) {
      t = flat;
      return;
    }
    int64_t extent = 1, lowest = 0;
    for (int64_t d = 0; d < t.rank(); ++d) {
      if (t.numel() == 0) continue;
      const int64_t reach = (t.dim(d) - 1) * t.strides()[static_cast<size_t>(d)];
      (reach < 0 ? lowest : extent) += reach;
    }
    Tensor room = Tensor::zeros({extent - lowest}, dtype);
    const bool overlaps = std::any_of(t.strides().begin(), t.strides().end(), [](int64_t s) { return s == 0; });
    Tensor same = room.as_strided(t.shape(), t.strides(), -lowest);
    if (!overlaps) {
      same.copy_(flat);
      t = same;
    } else {
      // A broadcast view: one copy of each distinct element.
      Tensor base = t;
      for (int64_t d = 0; d < t.rank(); ++d)
        if (t.strides()[static_cast<size_t>(d)] == 0 && t.dim(d) > 0) base = base.narrow(d, 0, 1);
      t = base.to(dtype).expand(t.shape());
    }
  };
  if (auto* t = std::get_if<Tensor>(&arg)) convert(*t);
  if (auto* list = std::get_if<std::vector<Tensor>>(&arg))
    for (Tensor& t : *list) convert(t);
  return arg;
}

Call sample_call(const OpDecl& op, const Sample& sample, DType dtype) {
  SampleArgs args;
  for (const SampleArg& a : sample.args) args.push_back(converted(a, dtype));
  SampleKeywords keywords;
  for (const auto& [name, a] : sample.keywords) keywords.emplace_back(name, converted(a, dtype));
  return make_call(op, std::move(args), std::move(keywords));
}

std::vector<Tensor> oracle_results(const Call& call) {
  Args args = known_args(call);
  std::vector<Tensor> wide;
  for (Meta& m : args.operands()) {
    const Tensor dense = m.known.contiguous();
    wide.push_back(is_floating(dense.dtype()) ? dense.to(DType::float64) : dense);
    const bool weak = m.weak;
    m = Meta::of(dense, true);
    m.weak = weak;
  }
  return call.op->oracle(args, wide);
}

std::string sample_text(const Call& call) {
  std::string text = call.op->parsed.full_name() + "(";
  for (const Tensor& t : call.tensors) text += describe(t) + (t.is_contiguous() ? "" : " strided") + ", ";
  for (size_t i = 0; i < call.values.size(); ++i)
    if (!std::holds_alternative<TensorRef>(call.values[i]) && !std::holds_alternative<TensorRefs>(call.values[i]))
      text += call.op->parsed.params[i].name + "=" + to_string(call.values[i]) + " ";
  return text + ")";
}

class OpSuite : public testing::TestWithParam<const OpDecl*> {
 protected:
  void TearDown() override { set_cpu_target(""); }

  void check_error(const OpDecl& op, const Sample& sample) {
    try {
      run_call(sample_call(op, sample, DType::float32));
      ADD_FAILURE() << op.parsed.full_name() << ": a call that must fail was served";
    } catch (const Error& e) {
      EXPECT_EQ(name(e.code()), std::string(name(sample.code))) << e.what();
      for (const std::string& n : sample.names)
        EXPECT_NE(std::string(e.what()).find(n), std::string::npos) << "'" << n << "' is not named in: " << e.what();
    }
  }

  void check_facts(const OpDecl& op, const Call& call, bool has_kernel_work) {
    const Args args = known_args(call);
    const Metas outputs = op.infer(args);
    const Cost cost = op.cost(args, outputs);
    EXPECT_GE(cost.read, 0);
    EXPECT_GE(cost.flops, 0);
    EXPECT_GE(cost.workspace, 0);
    int64_t fresh = 0;
    for (const Meta& m : outputs)
      if (m.alias < 0) fresh += m.bytes();
    EXPECT_GE(cost.written, fresh > 0 ? 1 : 0);
    KeySink keys;
    op.keys(args, outputs, Profile{}, keys);
    if (has_kernel_work && fresh > 0) {
      EXPECT_FALSE(keys.keys().empty()) << sample_text(call);
    }
  }
};

TEST_P(OpSuite, SamplesEqualTheOracle) {
  const OpDecl& op = *GetParam();
  if (!op.samples || !op.oracle) return;  // told by Declarations.AreAllComplete
  SampleSink sink;
  op.samples(sink);
  static Team teams[4] = {Team(1), Team(2), Team(3), Team(7)};
  for (const Sample& sample : sink.samples()) {
    if (sample.is_error) {
      check_error(op, sample);
      continue;
    }
    for (const DType dtype : op.dtypes) {
      if (sample.float32_only && dtype != op.dtypes.front()) continue;
      SCOPED_TRACE(name(dtype));
      Call call;
      std::vector<Tensor> wanted;
      Metas outputs;
      try {
        call = sample_call(op, sample, dtype);
        wanted = oracle_results(call);
        outputs = op.infer(known_args(call));
      } catch (const Error& e) {
        ADD_FAILURE() << op.parsed.full_name() << ": " << (call.op ? sample_text(call) : "") << ": " << e.what();
        continue;
      }
      bool launches = outputs.empty();
      for (const Meta& m : outputs) launches = launches || m.alias < 0;
      check_facts(op, call, launches);
      const Args args = known_args(call);
      for (const Kernel& kernel : op.kernels) {
        if (kernel.device != DeviceKind::cpu || (kernel.serves && !kernel.serves(args).ok)) continue;
        for (const std::string& target : cpu_targets()) {
          set_cpu_target(target);
          std::vector<Tensor> first;
          for (Team& team : teams) {
            std::vector<Tensor> got;
            try {
              got = run_call(call, {&team, kernel.name});
            } catch (const Error& e) {
              ADD_FAILURE() << sample_text(call) << " by " << kernel.name << ": " << e.what();
              break;
            }
            ASSERT_EQ(got.size(), wanted.size()) << sample_text(call);
            if (!first.empty()) {
              for (size_t i = 0; i < got.size(); ++i)
                EXPECT_TRUE(same_bits(first[i], got[i]))
                    << sample_text(call) << ": other bits with " << team.threads() << " threads";
              continue;
            }
            first = got;
            for (size_t i = 0; i < got.size(); ++i) {
              ASSERT_EQ(got[i].shape(), wanted[i].shape()) << sample_text(call) << " result " << i;
              const Comparison c = compare_with_oracle(got[i], wanted[i], op.tolerance);
              EXPECT_TRUE(c.ok) << sample_text(call) << " result " << i << " by " << kernel.name << " on " << target
                                << ": " << c.text();
            }
          }
        }
        set_cpu_target("");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpSuite, testing::ValuesIn(all_ops()), [](const auto& tested) {
  std::string n = tested.param->parsed.full_name();
  for (char& c : n)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return n;
});

}  // namespace
}  // namespace nbx
