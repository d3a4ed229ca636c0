// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/gemm.h"

#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/kernel_test.h"

#include <nbx/error.h>

#include <string>

namespace nbx {
namespace {
using namespace kernel_test;

NBX_EACH_TARGET(GemmTest);

enum class How { strided, packed_b, packed_a, source };

struct Case {
  int64_t m, n, k;
  int64_t batch = 1;
  bool a_transposed = false, b_transposed = false;
  DType a_dtype = DType::float32, b_dtype = DType::float32, c_dtype = DType::float32;
  How how = How::strided;
  ActivationSpec act;
  bool col_bias = false, row_bias = false, residual = false, residual_before = true;
  float alpha = 1.0f;

  std::string text() const {
    return "m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k) + " batch " +
           std::to_string(batch) + " at " + std::to_string(a_transposed) + " bt " + std::to_string(b_transposed) +
           " how " + std::to_string(static_cast<int>(how)) + " act " + std::to_string(static_cast<int>(act.kind)) +
           " c " + name(c_dtype) + " a " + name(a_dtype) + " b " + name(b_dtype);
  }
};

struct Problem {
  explicit Problem(const Case& problem)
      : c(problem),
        random(static_cast<uint32_t>(c.m * 7 + c.n * 3 + c.k)),
        a(random.values(c.batch * c.m * c.k), c.a_dtype),
        b(random.values((c.how == How::packed_b ? 1 : c.batch) * c.k * c.n), c.b_dtype),
        bias_n(random.values(c.n)),
        bias_m(random.values(c.m)),
        add(random.values(c.batch * c.m * stride()), c.c_dtype) {}

  int64_t stride() const { return c.n + 3; }  // C's rows are not adjacent
  double a_at(int64_t i, int64_t m, int64_t k) const {
    return a.exact[static_cast<size_t>(i * c.m * c.k + (c.a_transposed ? k * c.m + m : m * c.k + k))];
  }
  double b_at(int64_t i, int64_t k, int64_t n) const {
    const int64_t base = c.how == How::packed_b ? 0 : i * c.k * c.n;
    return b.exact[static_cast<size_t>(base + (c.b_transposed ? n * c.k + k : k * c.n + n))];
  }

  // C with guards of 99 between and behind the rows.
  std::vector<char> run(int threads) const {
    Team team(threads);
    std::vector<char> out =
        Operand(std::vector<float>(static_cast<size_t>(c.batch * c.m * stride()), 99.0f), c.c_dtype).bytes;
    Gemm g;
    g.m = c.m, g.n = c.n, g.k = c.k, g.batch = c.batch;
    g.a = {a.data(), c.a_dtype, c.a_transposed ? 1 : c.k, c.a_transposed ? c.m : 1, c.m * c.k};
    g.b = {b.data(), c.b_dtype, c.b_transposed ? 1 : c.n, c.b_transposed ? c.k : 1, c.k * c.n};
    g.c = out.data();
    g.c_dtype = c.c_dtype;
    g.c_row_stride = stride();
    g.c_batch_stride = c.m * stride();
    g.epilogue.alpha = c.alpha;
    g.epilogue.act = c.act;
    if (c.col_bias) g.epilogue.col_bias = bias_n.data();
    std::vector<float> biases;
    std::vector<PackedA> packed_a;
    PackedB packed_b;
    if (c.how == How::packed_a) {
      for (int64_t i = 0; i < c.batch; ++i) {
        MatrixView one = g.a;
        one.data = static_cast<const char*>(one.data) + i * c.m * c.k * itemsize(c.a_dtype);
        packed_a.emplace_back(one, c.m, c.k);
        biases.insert(biases.end(), bias_m.begin(), bias_m.end());
      }
      g.packed_a = packed_a.data();
      g.a_period = c.batch;
    } else {
      biases = bias_m;
    }
    if (c.row_bias) g.epilogue.row_bias = biases.data();
    if (c.how == How::packed_b) {
      packed_b = PackedB(g.b, c.k, c.n, &team);
      g.packed_b = &packed_b;
    }
    if (c.residual) g.epilogue.residual = add.data();
    g.epilogue.residual_before_act = c.residual_before;
    const auto fill = [&](int64_t i, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
      for (int64_t k = k0; k < k1; ++k)
        for (int64_t j = 0; j < width; ++j)
          dst[(k - k0) * width + j] = n0 + j < n1 ? static_cast<float>(b_at(i, k, n0 + j)) : 0.0f;
    };
    const BlockSource source(fill);
    if (c.how == How::source) g.b_source = &source;
    gemm(team, g);
    return out;
  }

  void check(const std::vector<char>& out) const {
    for (int64_t i = 0; i < c.batch; ++i)
      for (int64_t m = 0; m < c.m; ++m)
        for (int64_t n = 0; n < stride(); ++n) {
          const int64_t at = (i * c.m + m) * stride() + n;
          const double got = read(out.data(), c.c_dtype, at);
          if (n >= c.n) {
            ASSERT_EQ(got, 99.0) << c.text() << ": wrote beyond row " << m;
            continue;
          }
          double sum = 0, size = 1;
          for (int64_t k = 0; k < c.k; ++k) {
            const double t = a_at(i, m, k) * b_at(i, k, n);
            sum += t;
            size += std::fabs(t);
          }
          double v = sum * c.alpha;
          if (c.col_bias) v += bias_n[static_cast<size_t>(n)];
          if (c.row_bias) v += bias_m[static_cast<size_t>(m)];
          const double r = c.residual ? add.exact[static_cast<size_t>(at)] : 0;
          v = c.residual_before ? activate(c.act, v + r) : activate(c.act, v) + r;
          ASSERT_NEAR(got, v, 3e-6 * size + unit(c.c_dtype) * (std::fabs(v) + 1e-3))
              << c.text() << " at " << i << ", " << m << ", " << n;
        }
  }

  Case c;
  Random random;
  Operand a, b;
  std::vector<float> bias_n, bias_m;
  Operand add;
};

void prove(const Case& c, bool all_threads = true) {
  const Problem p(c);
  const auto one = p.run(1);
  p.check(one);
  if (testing::Test::HasFatalFailure() || !all_threads) return;
  for (int threads : {2, 3, 7})
    ASSERT_EQ(one, p.run(threads)) << c.text() << ": other bits with " << threads << " threads";
}

TEST_P(GemmTest, OddSizesAreRightInEveryForm) {
  for (int64_t m : {1, 2, 3, 4, 5, 7, 9, 12, 13, 14, 17, 25, 31})
    for (int64_t n : {1, 2, 15, 16, 17, 32, 33, 49, 130})
      for (int64_t k : {1, 7, 64})
        for (How how : {How::strided, How::packed_b, How::packed_a, How::source}) {
          Case c{m, n, k};
          c.how = how;
          c.a_transposed = (m + n) % 2 != 0;
          c.b_transposed = (m + k) % 2 != 0;
          prove(c, m == 13 && n == 130);
          if (HasFatalFailure()) return;
        }
}

TEST_P(GemmTest, LongSumsInBlocksAreRight) {
  for (int64_t k : {511, 512, 513, 1300})
    for (int64_t m : {1, 2, 30})
      for (How how : {How::strided, How::packed_b, How::packed_a, How::source}) {
        Case c{m, 70, k};
        c.how = how;
        c.residual = true;
        c.row_bias = true;
        c.act = {ActivationKind::relu};
        prove(c);
        if (HasFatalFailure()) return;
      }
}

TEST_P(GemmTest, WorkOfManyTasksHasTheSameBitsForAnyThreadCount) {
  Case c{150, 300, 200};
  prove(c);
  c.how = How::packed_b;
  prove(c);
  c.how = How::packed_a;
  prove(c);
  Case batched{20, 40, 33, 17};
  batched.b_transposed = true;
  prove(batched);
}

TEST_P(GemmTest, BatchesUseTheirOwnMatrices) {
  for (How how : {How::strided, How::packed_b, How::packed_a, How::source}) {
    Case c{5, 19, 11, 6};
    c.how = how;
    c.row_bias = true;
    c.residual = true;
    prove(c);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GemmTest, OneColumnOfALargeMatrix) {
  for (How how : {How::packed_a, How::source, How::strided})
    for (int64_t m : {11, 120, 146})
      for (int64_t k : {40, 1100}) {
        Case c{m, 1, k};
        c.how = how;
        c.b_dtype = k == 40 ? DType::bfloat16 : DType::float32;
        c.row_bias = true;
        prove(c);
        if (HasFatalFailure()) return;
      }
  Case batched{30, 1, 20, 3};
  batched.how = How::packed_a;
  prove(batched);
}

TEST_P(GemmTest, HalfTypesAreWidenedWhilePackingAndRoundedOnce) {
  for (DType a : {DType::float32, DType::bfloat16, DType::float16})
    for (DType b : {DType::float32, DType::bfloat16, DType::float16})
      for (DType out : {DType::float32, DType::bfloat16, DType::float16})
        for (int t = 0; t < 4; ++t) {
          Case c{13, 37, 50};
          c.a_dtype = a, c.b_dtype = b, c.c_dtype = out;
          c.a_transposed = t & 1, c.b_transposed = t & 2;
          c.residual = t == 1;
          c.how = t == 2 ? How::packed_b : t == 3 ? How::packed_a : How::strided;
          prove(c, false);
          if (HasFatalFailure()) return;
        }
}

TEST_P(GemmTest, EveryActivationBiasAndResidualOrder) {
  for (const ActivationSpec& act : all_activations())
    for (bool before : {true, false})
      for (DType out : {DType::float32, DType::bfloat16}) {
        Case c{7, 35, 5};
        c.act = act;
        c.alpha = 0.75f;
        c.col_bias = c.row_bias = c.residual = true;
        c.residual_before = before;
        c.c_dtype = out;
        prove(c, false);
        if (HasFatalFailure()) return;
      }
}

TEST_P(GemmTest, AnEmptySumGivesTheBias) {
  Case c{3, 20, 0};
  c.col_bias = true;
  prove(c);
}

TEST_P(GemmTest, TheResidualMayBeTheOutput) {
  Team team(2);
  Random random(3);
  const auto a = random.values(30 * 700), b = random.values(700 * 50);
  auto c = random.values(30 * 50);
  const auto before = c;
  Gemm g;
  g.m = 30, g.n = 50, g.k = 700;
  g.a = {a.data(), DType::float32, 700, 1};
  g.b = {b.data(), DType::float32, 50, 1};
  g.c = c.data();
  g.c_row_stride = 50;
  g.epilogue.residual = c.data();
  gemm(team, g);
  for (int64_t m = 0; m < 30; ++m)
    for (int64_t n = 0; n < 50; ++n) {
      double v = before[static_cast<size_t>(m * 50 + n)];
      for (int64_t k = 0; k < 700; ++k)
        v += static_cast<double>(a[static_cast<size_t>(m * 700 + k)]) * b[static_cast<size_t>(k * 50 + n)];
      ASSERT_NEAR(c[static_cast<size_t>(m * 50 + n)], v, 1e-3);
    }
}

TEST(GemmLayout, RowPanelsCoverEveryRowOnce) {
  for (int64_t m = 0; m < 200; ++m) {
    const RowPanels panels(m);
    int64_t next = 0;
    for (int64_t p = 0; p < panels.count(); ++p) {
      EXPECT_EQ(panels.begin(p), next);
      EXPECT_GE(panels.rows(p), 1);
      EXPECT_GE(panels.padded(p), panels.rows(p));
      if (p + 1 < panels.count()) {
        EXPECT_EQ(panels.padded(p), panels.rows(p));
      }
      next += panels.rows(p);
    }
    EXPECT_EQ(next, m);
  }
}

TEST(GemmErrors, APackedMatrixOfAnotherSizeIsNamed) {
  Team team(1);
  const std::vector<float> w(6, 1.0f);
  const PackedB packed({w.data(), DType::float32, 3, 1}, 2, 3);
  float c[8];
  Gemm g;
  g.m = 1, g.n = 4, g.k = 2;
  g.a = {w.data(), DType::float32, 2, 1};
  g.packed_b = &packed;
  g.c = c;
  g.c_row_stride = 4;
  try {
    gemm(team, g);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::shape);
    EXPECT_NE(std::string(e.what()).find("(2, 3)"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("(2, 4)"), std::string::npos);
  }
}

}  // namespace
}  // namespace nbx
