// SPDX-License-Identifier: Apache-2.0
// C = act(alpha A B + bias + residual) on the CPU: A (m, k), B (k, n), C (m, n), any of float32, bfloat16, float16;
// sums are float32 in the order of k. The work is cut by the problem alone: bits do not depend on the number of
// threads. Nothing is allocated after the team's scratch has grown to what the largest call needs (gemm_scratch_bytes a
// worker).
#pragma once
#include "backend/activation_spec.h"
#include "backend/cpu/team.h"

#include <nbx/dtype.h>

#include <cstdint>
#include <memory>

namespace nbx {

// A read-only matrix. Strides count elements and may be anything, 0 and negative included: a transposed matrix is one
// whose strides are exchanged.
struct MatrixView {
  const void* data = nullptr;
  DType dtype = DType::float32;  // float32, bfloat16 or float16
  int64_t row_stride = 0;
  int64_t col_stride = 1;
  int64_t batch_stride = 0;  // from one matrix of a batch to the next
};

// 64-byte aligned floats.
class FloatBlock {
 public:
  FloatBlock() = default;
  explicit FloatBlock(int64_t count);
  float* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  int64_t bytes_ = 0;
};

// A (m, k) as the kernels read it, widened to float32: made once, at load, for weights on the left (convolutions).
class PackedA {
 public:
  PackedA() = default;
  PackedA(const MatrixView& a, int64_t m, int64_t k);
  int64_t m() const { return m_; }
  int64_t k() const { return k_; }
  int64_t bytes() const { return block_.bytes(); }
  const float* data() const { return block_.data(); }

 private:
  int64_t m_ = 0, k_ = 0;
  FloatBlock block_;
};

// B (k, n) as the kernels read it, for weights on the right (linear layers): from weights (n, k) of a linear layer,
// pass row_stride 1 and col_stride k. PackedB of a team packs in parallel.
class PackedB {
 public:
  PackedB() = default;
  PackedB(const MatrixView& b, int64_t k, int64_t n, Team* team = nullptr);
  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  int64_t bytes() const { return block_.bytes(); }
  const float* data() const { return block_.data(); }

 private:
  int64_t k_ = 0, n_ = 0;
  FloatBlock block_;
};

// What happens to a sum before it is stored: v = alpha * sum + bias; then v += residual, v = act(v), in the order
// given.
struct Epilogue {
  float alpha = 1.0f;
  const float* col_bias = nullptr;  // (n)
  const float* row_bias = nullptr;  // (m), or (a_period * m) with several packed A
  ActivationSpec act;
  float scale = 1.0f, shift = 0.0f;  // v = act(v) * scale + shift
  const void* residual = nullptr;    // (batch, m, n) with C's dtype and strides; may be C itself
  bool residual_before_act = true;   // relu(conv + x); false: act(conv) + x
};

// Fills dst with rows [k0, k1) and columns [n0, n1) of B of one batch entry: dst (k1 - k0, width), width 16 or 32,
// columns beyond n1 zero. For operands that exist only as a rule, such as the patches of a convolution.
using BlockSource =
    FunctionRef<void(int64_t batch, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst)>;

// Takes finished values of C: values (rows, 32), of which `cols` columns count, for C[m0.., n0..]. For results that are
// stored with a rule, such as the phases of a transposed convolution. No residual.
using TileSink =
    FunctionRef<void(int64_t batch, int64_t m0, int64_t rows, int64_t n0, int64_t cols, const float* values)>;

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  // One of: a strided view (a new matrix each batch entry), or packed matrices: entry i uses packed_a[i % a_period].
  MatrixView a;
  const PackedA* packed_a = nullptr;
  int64_t a_period = 1;
  // One of: a strided view, a packed matrix (shared by the batch), a source.
  MatrixView b;
  const PackedB* packed_b = nullptr;
  const BlockSource* b_source = nullptr;
  // One of: a matrix with contiguous rows, which must not overlap A or B; a sink.
  void* c = nullptr;
  const TileSink* c_sink = nullptr;
  DType c_dtype = DType::float32;
  int64_t c_row_stride = 0;
  int64_t c_batch_stride = 0;
  Epilogue epilogue;
};

// k = 0 gives act(bias + residual). Errors (dtype, shape) name the operand.
void gemm(Team& team, const Gemm& g);

// Scratch memory a worker that gemm(g) takes from the team; pointers are not looked at, only whether they are null.
int64_t gemm_scratch_bytes(const Gemm& g);

}  // namespace nbx
