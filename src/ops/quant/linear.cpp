// SPDX-License-Identifier: Apache-2.0
#include "ops/quant/linear.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace nbx {

namespace {
constexpr int64_t kPiece = 16384;  // elements that make a segment where nothing else ends it
}

Grain grain_of(const Args& a, const Meta& x, const Meta& scale) {
  Grain g;
  const int64_t block = a.integer("block_size");
  require(block >= 0, Code::value, "{}: block_size is {}, it cannot be negative", a.op(), block);
  if (block == 0 && scale.rank() <= 1 && scale.numel() == 1) {
    g.inner = x.numel();
    return g;
  }
  const int64_t rank = x.rank();
  int64_t axis = a.integer("axis");
  require(rank > 0, Code::shape, "{}: scale is {}, a tensor without dims has one scale (x: {})", a.op(),
          to_string(scale), to_string(x));
  if (rank == 1) axis = 0;  // the default of 1 means nothing there
  require(axis >= -rank && axis < rank, Code::index, "{}: axis is {}, x is {}; it must be in [{}, {}]", a.op(), axis,
          to_string(x), -rank, rank - 1);
  if (axis < 0) axis += rank;
  for (int64_t d = 0; d < axis; ++d) g.outer *= x.dim(d);
  for (int64_t d = axis + 1; d < rank; ++d) g.inner *= x.dim(d);
  g.extent = x.dim(axis);
  if (block == 0) {
    require(scale.shape == Shape{g.extent}, Code::shape,
            "{}: scale is {}, x is {}; pass one scale, or [{}] for axis {}, or a block_size", a.op(), to_string(scale),
            to_string(x), g.extent, axis);
    g.kind = Grain::Kind::axis;
    return g;
  }
  g.kind = Grain::Kind::block;
  g.block = block;
  g.blocks = g.extent / block + (g.extent % block != 0);
  Shape wanted = x.shape;
  wanted[static_cast<size_t>(axis)] = g.blocks;
  require(scale.shape == wanted, Code::shape, "{}: scale is {}, blocks of {} along axis {} of x {} need {}", a.op(),
          to_string(scale), block, axis, to_string(x), to_string(wanted));
  return g;
}

int64_t segments(const Grain& g) {
  if (g.outer == 0 || g.extent == 0 || g.inner == 0) return 0;
  switch (g.kind) {
    case Grain::Kind::tensor:
      return (g.inner + kPiece - 1) / kPiece;
    case Grain::Kind::axis:
      return g.inner == 1 ? g.outer : g.outer * g.extent;
    default:
      return g.inner == 1 ? g.outer * g.blocks : g.outer * g.extent;
  }
}

Segment segment(const Grain& g, int64_t i) {
  switch (g.kind) {
    case Grain::Kind::tensor:
      return {i * kPiece, std::min(kPiece, g.inner - i * kPiece), 0, false};
    case Grain::Kind::axis:
      if (g.inner == 1) return {i * g.extent, g.extent, 0, true};
      return {i * g.inner, g.inner, i % g.extent, false};
    default: {
      if (g.inner == 1) {
        const int64_t o = i / g.blocks, b = i % g.blocks;
        return {o * g.extent + b * g.block, std::min(g.block, g.extent - b * g.block), i, false};
      }
      const int64_t o = i / g.extent, along = i % g.extent;
      return {i * g.inner, g.inner, (o * g.blocks + along / g.block) * g.inner, true};
    }
  }
}

int64_t longest_segment(const Grain& g) {
  if (g.kind == Grain::Kind::tensor) return std::min(kPiece, g.inner);
  if (g.inner != 1) return g.inner;
  return g.kind == Grain::Kind::axis ? g.extent : std::min(g.block, g.extent);
}

std::vector<int64_t> scale_of_each(const Grain& g) {
  std::vector<int64_t> out;
  for (int64_t o = 0; o < g.outer; ++o)
    for (int64_t e = 0; e < g.extent; ++e)
      for (int64_t i = 0; i < g.inner; ++i)
        out.push_back(g.kind == Grain::Kind::tensor ? 0
                      : g.kind == Grain::Kind::axis ? e
                                                    : (o * g.blocks + e / g.block) * g.inner + i);
  return out;
}

namespace {

template <class T>
void read(const void* p, int64_t at, int64_t n, float* to) {
  const T* from = static_cast<const T*>(p) + at;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_arithmetic_v<T>)
      to[i] = static_cast<float>(from[i]);
    else
      to[i] = to_float(from[i]);
  }
}

template <class T>
void write_int(const float* v, int64_t n, void* p, int64_t at) {
  constexpr float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  T* to = static_cast<T*>(p) + at;
  for (int64_t i = 0; i < n; ++i) {
    const float above = v[i] > low ? v[i] : low;  // a NaN is not above
    to[i] = static_cast<T>(static_cast<int32_t>(above < high ? above : high));
  }
}

float narrow(float v, float*) { return v; }
float16_t narrow(float v, float16_t*) { return to_float16(v); }
bfloat16_t narrow(float v, bfloat16_t*) { return to_bfloat16(v); }
float8_e4m3fn_t narrow(float v, float8_e4m3fn_t*) { return to_float8_e4m3fn(v); }
float8_e5m2_t narrow(float v, float8_e5m2_t*) { return to_float8_e5m2(v); }

template <class T, bool saturate = false>
void write_float(const float* v, int64_t n, void* p, int64_t at) {
  T* to = static_cast<T*>(p) + at;
  const float limit = float8_limit(dtype_of<T>::value);
  for (int64_t i = 0; i < n; ++i) {
    float x = v[i];
    if (saturate) x = x > limit ? limit : x < -limit ? -limit : x;
    to[i] = narrow(x, static_cast<T*>(nullptr));
  }
}

template <class T>
void round_to(float* v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) v[i] = to_float(narrow(v[i], static_cast<T*>(nullptr)));
}

}  // namespace

ReadFloats reader(const std::string& op, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return read<float>;
    case DType::float16:
      return read<float16_t>;
    case DType::bfloat16:
      return read<bfloat16_t>;
    case DType::float8_e4m3fn:
      return read<float8_e4m3fn_t>;
    case DType::float8_e5m2:
      return read<float8_e5m2_t>;
    case DType::int8:
      return read<int8_t>;
    case DType::uint8:
      return read<uint8_t>;
    case DType::int16:
      return read<int16_t>;
    case DType::uint16:
      return read<uint16_t>;
    case DType::int32:
      return read<int32_t>;
    default:
      fail(Code::dtype, "{}: {} cannot be read as a quantised or a real operand", op, name(dtype));
  }
}

RoundFloats rounder(DType dtype) {
  if (dtype == DType::float16) return round_to<float16_t>;
  if (dtype == DType::bfloat16) return round_to<bfloat16_t>;
  return [](float*, int64_t) {};
}

WriteFloats writer(const std::string& op, DType dtype, bool saturate) {
  switch (dtype) {
    case DType::float32:
      return write_float<float>;
    case DType::float16:
      return write_float<float16_t>;
    case DType::bfloat16:
      return write_float<bfloat16_t>;
    case DType::float8_e4m3fn:
      return saturate ? write_float<float8_e4m3fn_t, true> : write_float<float8_e4m3fn_t>;
    case DType::float8_e5m2:
      return saturate ? write_float<float8_e5m2_t, true> : write_float<float8_e5m2_t>;
    case DType::int8:
      return write_int<int8_t>;
    case DType::uint8:
      return write_int<uint8_t>;
    case DType::int16:
      return write_int<int16_t>;
    case DType::uint16:
      return write_int<uint16_t>;
    default:
      fail(Code::dtype, "{}: {} is no dtype of a result", op, name(dtype));
  }
}

void require_byte(const std::string& op, const char* param, const Meta& m) {
  require(is_byte(m.dtype), Code::dtype, "{}: {} is {}, it must be int8 or uint8", op, param, to_string(m));
}
void require_single(const std::string& op, const char* param, const Meta& m) {
  require(m.numel() == 1, Code::shape, "{}: {} is {}, it must have one element", op, param, to_string(m));
}
void require_scale(const std::string& op, const char* param, const Meta& m) {
  require(m.dtype == DType::float32 || is_half(m.dtype), Code::dtype,
          "{}: {} is {}, it must be float32, float16 or bfloat16", op, param, to_string(m));
}

}  // namespace nbx
