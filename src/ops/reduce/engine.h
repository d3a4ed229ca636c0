// SPDX-License-Identifier: Apache-2.0
// Any reduction over any set of dims of a strided tensor, in one or two passes (variance, log-sum-exp). The cut into
// chunks and blocks is a function of the shape alone, and every join is in order: the bits do not depend on the
// threads.
#pragma once
#include <type_traits>
#include <vector>

#include "backend/cpu/team.h"
#include "ops/reduce/blocks.h"
#include "ops/reduce/folds.h"

namespace nbx {

// The loops of a reduction: outputs are numbered row-major over the kept dims, terms over the reduced ones.
struct Reducing {
  Walk kept, reduced;
  int64_t outputs = 1, terms = 1;
  bool columns = false;  // neighbouring outputs lie side by side in the input: fold whole runs of them at once
  int64_t grain = 1;     // outputs a chunk
  int64_t piece = 1;     // terms a chunk, when few outputs have many terms
  int64_t pieces = 1;
};
Reducing reducing(const Shape& shape, const Strides& strides, const std::vector<bool>& over);

// Float totals are double, so joining a million blocks costs no digits.
template <class A>
using Total = std::conditional_t<std::is_floating_point_v<A>, double, A>;

template <class A>
Total<A> identity(Fold kind);
template <class A>
Total<A> joined(Fold kind, Total<A> a, Total<A> b);

// totals[i] for the outputs [first, last) over the terms [begin, end); p: one an output of the range, for the shifted
// kinds.
template <class A>
void fold_range(const Reducing& r, const Source<A>& source, const void* x, Fold kind, double q, int64_t first,
                int64_t last, int64_t begin, int64_t end, const Total<A>* p, Total<A>* totals);

struct Passes {
  Fold first = Fold::sum;
  bool two = false;
  Fold second = Fold::sum;  // its shift is the first total after `between`
  enum class Between : uint8_t { same, mean, finite } between = Between::same;  // finite: an infinite shift becomes 0
  double q = 0;
};

int64_t reduction_workspace(const Reducing& r);  // bytes
// Runs the passes and calls finish(first output, count, totals, shifts): shifts are the first pass' (after `between`),
// null when there is one pass only. `finish` runs in chunks and may overwrite totals.
template <class A>
void run_reduction(const Reducing& r, const Source<A>& source, const Passes& passes, const void* x,
                   std::byte* workspace, Team& team, FunctionRef<void(int64_t, int64_t, Total<A>*, Total<A>*)> finish);

}  // namespace nbx
