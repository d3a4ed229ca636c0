// SPDX-License-Identifier: Apache-2.0
// Random tensors. A draw is named by (seed, draw): `draw` counts the random nodes of a graph, so that two of them with
// one seed differ. Element i of a draw follows from these and i alone: the same numbers in every run, for any thread
// count.
#pragma once
#include "ops/declare.h"

namespace nbx::draws {

enum class Kind { normal, uniform, bernoulli };

struct Draw {
  Kind kind = Kind::normal;
  uint64_t seed = 0, number = 0;
  double first = 0, second = 1;  // mean and scale; low and high
};
Draw draw_of(const Args& a);

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands);

void size_samples(SampleSink& s);
void like_samples(SampleSink& s);
void bernoulli_samples(SampleSink& s);

}  // namespace nbx::draws
