// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"
#include "ops/recurrent/recurrent_onednn.h"

namespace nbx {

Serves onednn_serves(const RecurrentProblem& p) {
  if (p.dtype != DType::float32 || p.kind == RecurrentKind::rnn)
    return refuse("oneDNN serves float32 lstm and gru here");
  if (p.directions != 1 || p.batch_first || p.lengths || p.p || p.couple_forget || p.clip > 0)
    return refuse("one direction, steps first, no lengths, peepholes, coupling or clip");
  const auto constant = [](const std::optional<Meta>& m) { return !m || m->known.defined(); };
  if (!p.w.known.defined() || !p.r.known.defined() || !constant(p.b)) return refuse("the weights must be constant");
  if (p.steps == 0 || p.batch == 0 || p.hidden == 0 || p.input == 0) return refuse("nothing to compute");
  const RecurrentActivation* a = p.activations[0];
  const int count = p.kind == RecurrentKind::lstm ? 3 : 2;
  for (int i = 0; i < count; ++i)
    if (a[i].kind != (i == 0 ? RecurrentActivation::sigmoid : RecurrentActivation::tanh))
      return refuse("the usual activations alone");
  return yes;
}

Bound bind_onednn(const RecurrentProblem& p) {
  onednn::Recurrent::Shape s;
  s.lstm = p.kind == RecurrentKind::lstm;
  s.reverse = p.first_reversed;
  s.linear_before_reset = p.linear_before_reset;
  s.steps = p.steps;
  s.batch = p.batch;
  s.input = p.input;
  s.hidden = p.hidden;
  const Tensor w = p.w.known.contiguous(), r = p.r.known.contiguous(), b = p.b ? p.b->known.contiguous() : Tensor();
  const auto plan = std::make_shared<const onednn::Recurrent>(s, w.data<float>(), r.data<float>(),
                                                              b.defined() ? b.data<float>() : nullptr);
  return [plan, lstm = s.lstm, ix = p.ix, ih = p.ih, ic = p.ic](const Run& run) {
    plan->run(run.team, run.in<float>(ix), run.in<float>(ih), lstm ? run.in<float>(ic) : nullptr, run.out<float>(0),
              run.out<float>(1), lstm ? run.out<float>(2) : nullptr);
  };
}

}  // namespace nbx
