// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"

#include <dlfcn.h>

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace nbx::onednn {

namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}

void one_thread() {
  static thread_local bool done = false;
  if (done) return;
  // oneDNN's threads are OpenMP's, and the setting is the calling thread's own. The library comes with oneDNN.
  if (void* set = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(1);
  done = true;
}

template <class Fn>
auto guarded(const char* what, Fn&& fn) {
  try {
    one_thread();
    return fn();
  } catch (const dnnl::error& e) {
    fail(Code::unsupported, "oneDNN refuses a {}: {}", what, e.what());
  }
}

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attr;
  // Chunks of one primitive run at the same time, so each brings its own scratch memory.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attr.set_post_ops(ops);
  }
  return attr;
}

memory scratch(const memory::desc& desc) {
  static thread_local std::vector<float> bytes;
  if (bytes.size() * sizeof(float) < desc.get_size()) bytes.resize(desc.get_size() / sizeof(float) + 1);
  return memory(desc, engine(), bytes.data());
}

memory at(const memory::desc& desc, const void* data) { return memory(desc, engine(), const_cast<void*>(data)); }

// A copy in the layout the primitive wants.
memory laid_out(const memory::desc& have, const void* data, const memory::desc& want) {
  memory out(want, engine());
  dnnl::stream stream(engine());
  memory from = at(have, data);
  dnnl::reorder(from, out).execute(stream, from, out);
  stream.wait();
  return out;
}

void execute(const dnnl::primitive& primitive, std::unordered_map<int, memory> args) {
  dnnl::stream stream(engine());
  primitive.execute(stream, args);
  stream.wait();
}

constexpr int64_t kRows = 64;      // of a matmul's chunk
constexpr int64_t kChannels = 64;  // of a convolution's chunk

}  // namespace

// Matmul

struct Matmul::Impl {
  Shape s;
  struct Part {
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul primitive;
    memory weights;
  };
  std::vector<Part> parts;  // full chunks, then the rest

  Part make(int64_t rows, const float* b) const {
    const memory::desc a({rows, s.k}, kF32, memory::dims{s.a_row_stride, 1});
    const memory::desc any({s.k, s.n}, kF32, memory::format_tag::any);
    const memory::desc c({rows, s.n}, kF32, memory::dims{s.n, 1});
    const memory::desc bias({1, s.n}, kF32, memory::dims{s.n, 1});
    const auto d = s.bias ? dnnl::matmul::desc(a, any, bias, c) : dnnl::matmul::desc(a, any, c);
    Part p;
    p.desc = dnnl::matmul::primitive_desc(d, attributes(s.relu), engine());
    p.primitive = dnnl::matmul(p.desc);
    p.weights = laid_out(memory::desc({s.k, s.n}, kF32, memory::dims{s.b_row_stride, s.b_col_stride}), b,
                         p.desc.weights_desc());
    return p;
  }
};

Matmul::Matmul(const Shape& shape, const float* b) : impl_(std::make_unique<Impl>()) {
  impl_->s = shape;
  guarded("matmul", [&] {
    if (shape.m >= kRows) impl_->parts.push_back(impl_->make(kRows, b));
    if (shape.m % kRows) impl_->parts.push_back(impl_->make(shape.m % kRows, b));
  });
}
Matmul::~Matmul() = default;

void Matmul::run(Team& team, const float* a, const float* bias, float* c) const {
  const Shape& s = impl_->s;
  team.run((s.m + kRows - 1) / kRows, [&](int64_t chunk, int) {
    const int64_t row = chunk * kRows;
    const Impl::Part& p = s.m - row >= kRows ? impl_->parts.front() : impl_->parts.back();
    guarded("matmul", [&] {
      std::unordered_map<int, memory> args{{DNNL_ARG_SRC, at(p.desc.src_desc(), a + row * s.a_row_stride)},
                                           {DNNL_ARG_WEIGHTS, p.weights},
                                           {DNNL_ARG_DST, at(p.desc.dst_desc(), c + row * s.n)},
                                           {DNNL_ARG_SCRATCHPAD, scratch(p.desc.scratchpad_desc())}};
      if (s.bias) args.insert({DNNL_ARG_BIAS, at(p.desc.bias_desc(), bias)});
      execute(p.primitive, std::move(args));
    });
  });
}

// Convolution

struct Convolution::Impl {
  Shape s;
  struct Part {
    dnnl::convolution_forward::primitive_desc desc;
    dnnl::convolution_forward primitive;
    memory weights;
    int64_t first = 0;  // output channel
  };
  std::vector<Part> parts;
  int64_t in_size = 0, out_plane = 0;

  memory::dims spatial(const int64_t* v, int64_t less = 0) const {
    memory::dims d;
    for (int i = 0; i < s.spatial; ++i) d.push_back(v[i] - less);
    return d;
  }
  memory::format_tag plain() const {
    return s.spatial == 1   ? memory::format_tag::ncw
           : s.spatial == 2 ? memory::format_tag::nchw
                            : memory::format_tag::ncdhw;
  }
  memory::dims with(memory::dims head, const int64_t* tail) const {
    for (int i = 0; i < s.spatial; ++i) head.push_back(tail[i]);
    return head;
  }
  Part make(int64_t first, int64_t channels, const float* w) const {
    const memory::desc x(with({1, s.in_channels}, s.in), kF32, plain()), y(with({1, channels}, s.out), kF32, plain());
    const int64_t each = s.in_channels / s.groups;
    const memory::dims wdims =
        s.groups == 1 ? with({channels, each}, s.kernel) : with({s.groups, channels / s.groups, each}, s.kernel);
    const memory::desc any(wdims, kF32, memory::format_tag::any), bias({channels}, kF32, memory::format_tag::x);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto d = s.bias ? dnnl::convolution_forward::desc(kind, algorithm, x, any, bias, y, spatial(s.stride),
                                                            spatial(s.dilation, 1), spatial(s.begin), spatial(s.end))
                          : dnnl::convolution_forward::desc(kind, algorithm, x, any, y, spatial(s.stride),
                                                            spatial(s.dilation, 1), spatial(s.begin), spatial(s.end));
    Part p;
    p.desc = dnnl::convolution_forward::primitive_desc(d, attributes(s.relu), engine());
    p.primitive = dnnl::convolution_forward(p.desc);
    int64_t taps = 1;
    for (int i = 0; i < s.spatial; ++i) taps *= s.kernel[i];
    memory::dims strides(wdims.size(), 1);
    for (size_t i = wdims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * wdims[i + 1];
    p.weights = laid_out(memory::desc(wdims, kF32, strides), w + first * each * taps, p.desc.weights_desc());
    p.first = first;
    return p;
  }
};

Convolution::Convolution(const Shape& shape, const float* w) : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.s = shape;
  m.in_size = shape.in_channels;
  m.out_plane = 1;
  for (int i = 0; i < shape.spatial; ++i) {
    m.in_size *= shape.in[i];
    m.out_plane *= shape.out[i];
  }
  guarded("convolution", [&] {
    const int64_t step = shape.groups == 1 ? kChannels : shape.out_channels;  // groups stay together
    for (int64_t first = 0; first < shape.out_channels; first += step)
      m.parts.push_back(m.make(first, std::min(step, shape.out_channels - first), w));
  });
}
Convolution::~Convolution() = default;

void Convolution::run(Team& team, const float* x, const float* bias, float* y) const {
  const Impl& m = *impl_;
  const int64_t parts = static_cast<int64_t>(m.parts.size());
  team.run(m.s.batch * parts, [&](int64_t chunk, int) {
    const int64_t n = chunk / parts;
    const Impl::Part& p = m.parts[static_cast<size_t>(chunk % parts)];
    guarded("convolution", [&] {
      std::unordered_map<int, memory> args{
          {DNNL_ARG_SRC, at(p.desc.src_desc(), x + n * m.in_size)},
          {DNNL_ARG_WEIGHTS, p.weights},
          {DNNL_ARG_DST, at(p.desc.dst_desc(), y + (n * m.s.out_channels + p.first) * m.out_plane)},
          {DNNL_ARG_SCRATCHPAD, scratch(p.desc.scratchpad_desc())}};
      if (m.s.bias) args.insert({DNNL_ARG_BIAS, at(p.desc.bias_desc(), bias + p.first)});
      execute(p.primitive, std::move(args));
    });
  });
}

// Recurrent

struct Recurrent::Impl {
  Shape s;
  dnnl::primitive primitive;
  memory::desc x, state, y, scratchpad;
  memory wx, wh, bias;
};

Recurrent::Recurrent(const Shape& s, const float* w, const float* r, const float* bias)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.s = s;
  const int64_t g = s.lstm ? 4 : 3, h = s.hidden;
  // oneDNN's gates: lstm i f c o; gru u r o. ONNX's: i o f c; z r h.
  const int order[2][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}};
  const bool four = !s.lstm && s.linear_before_reset;  // the new gate keeps its two biases apart
  const int64_t bias_gates = four ? 4 : g;
  const auto reordered = [&](const float* from, int64_t inner) {  // (gates * hidden, inner) → (inner, gates, hidden)
    std::vector<float> out(static_cast<size_t>(inner * g * h));
    for (int64_t j = 0; j < g; ++j)
      for (int64_t u = 0; u < h; ++u)
        for (int64_t i = 0; i < inner; ++i)
          out[static_cast<size_t>((i * g + j) * h + u)] = from[(order[s.lstm][j] * h + u) * inner + i];
    return out;
  };
  std::vector<float> b(static_cast<size_t>(bias_gates * h), 0.0f);
  if (bias) {
    for (int64_t j = 0; j < g; ++j)
      for (int64_t u = 0; u < h; ++u) {
        const int64_t at_gate = order[s.lstm][j] * h + u;
        const bool apart = four && j == 2;
        b[static_cast<size_t>(j * h + u)] = bias[at_gate] + (apart ? 0.0f : bias[g * h + at_gate]);
        if (apart) b[static_cast<size_t>(3 * h + u)] = bias[g * h + at_gate];
      }
  }
  guarded("recurrent layer", [&] {
    using Tag = memory::format_tag;
    m.x = memory::desc({s.steps, s.batch, s.input}, kF32, Tag::tnc);
    m.y = memory::desc({s.steps, s.batch, h}, kF32, Tag::tnc);
    m.state = memory::desc({1, 1, s.batch, h}, kF32, Tag::ldnc);
    const memory::desc wx({1, 1, s.input, g, h}, kF32, Tag::any), wh({1, 1, h, g, h}, kF32, Tag::any);
    const memory::desc bd({1, 1, bias_gates, h}, kF32, Tag::ldgo);
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto direction =
        s.reverse ? dnnl::rnn_direction::unidirectional_right2left : dnnl::rnn_direction::unidirectional_left2right;
    const auto keep = [&](const auto& pd) {
      m.scratchpad = pd.scratchpad_desc();
      const auto wide = reordered(w, s.input), tall = reordered(r, h);
      m.wx = laid_out(memory::desc({1, 1, s.input, g, h}, kF32, Tag::ldigo), wide.data(), pd.weights_layer_desc());
      m.wh = laid_out(memory::desc({1, 1, h, g, h}, kF32, Tag::ldigo), tall.data(), pd.weights_iter_desc());
      m.bias = laid_out(bd, b.data(), bd);
    };
    if (s.lstm) {
      const dnnl::lstm_forward::primitive_desc pd(
          dnnl::lstm_forward::desc(kind, direction, m.x, m.state, m.state, wx, wh, bd, m.y, m.state, m.state),
          attributes(false), engine());
      keep(pd);
      m.primitive = dnnl::lstm_forward(pd);
    } else if (s.linear_before_reset) {
      const dnnl::lbr_gru_forward::primitive_desc pd(
          dnnl::lbr_gru_forward::desc(kind, direction, m.x, m.state, wx, wh, bd, m.y, m.state), attributes(false),
          engine());
      keep(pd);
      m.primitive = dnnl::lbr_gru_forward(pd);
    } else {
      const dnnl::gru_forward::primitive_desc pd(
          dnnl::gru_forward::desc(kind, direction, m.x, m.state, wx, wh, bd, m.y, m.state), attributes(false),
          engine());
      keep(pd);
      m.primitive = dnnl::gru_forward(pd);
    }
  });
}
Recurrent::~Recurrent() = default;

void Recurrent::run(Team& team, const float* x, const float* h0, const float* c0, float* y, float* h, float* c) const {
  const Impl& m = *impl_;
  team.run(1, [&](int64_t, int) {
    guarded("recurrent layer", [&] {
      const std::vector<float> zero(static_cast<size_t>(m.s.batch * m.s.hidden), 0.0f);
      std::unordered_map<int, memory> args{{DNNL_ARG_SRC_LAYER, at(m.x, x)},
                                           {DNNL_ARG_SRC_ITER, at(m.state, h0 ? h0 : zero.data())},
                                           {DNNL_ARG_WEIGHTS_LAYER, m.wx},
                                           {DNNL_ARG_WEIGHTS_ITER, m.wh},
                                           {DNNL_ARG_BIAS, m.bias},
                                           {DNNL_ARG_DST_LAYER, at(m.y, y)},
                                           {DNNL_ARG_DST_ITER, at(m.state, h)},
                                           {DNNL_ARG_SCRATCHPAD, scratch(m.scratchpad)}};
      if (m.s.lstm) {
        args.insert({DNNL_ARG_SRC_ITER_C, at(m.state, c0 ? c0 : zero.data())});
        args.insert({DNNL_ARG_DST_ITER_C, at(m.state, c)});
      }
      execute(m.primitive, std::move(args));
    });
  });
}

}  // namespace nbx::onednn
