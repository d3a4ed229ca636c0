// SPDX-License-Identifier: Apache-2.0
// Blocks of a picture traded for channels and back: the operand's dims split, reordered, joined; one strided copy.
#include "ops/shape/blocks/blocks.h"

#include "base/check.h"
#include "ops/shape/views.h"

namespace nbx {
namespace {

// Which of the three block dims lies where. Splitting the channels of (n, channels, h, w) gives (n, a, b, c, h, w).
enum class Order {
  pixel,  // channels = (c, by, bx): PyTorch, ONNX CRD
  depth,  // channels = (by, bx, c): ONNX DCR
};

struct Picture {
  int64_t batch, channels, h, w;  // batch: all leading dims
};
Picture picture_of(const Args& a, int64_t block) {
  const Meta& x = a.tensor("self");
  require(x.rank() >= 3, Code::shape, "{}: self must have at least 3 dims (channels, height, width), it is {}", a.op(),
          to_string(x));
  require(block > 0, Code::value, "{}: the block size {} is not positive", a.op(), block);
  return {numel(Shape(x.shape.begin(), x.shape.end() - 3)), x.dim(-3), x.dim(-2), x.dim(-1)};
}
Meta with_picture(const Meta& x, int64_t channels, int64_t h, int64_t w) {
  Shape shape(x.shape.begin(), x.shape.end() - 3);
  for (int64_t extent : {channels, h, w}) shape.push_back(extent);
  return x.with(shape);
}

Metas shuffled(const Args& a, int64_t block) {
  const Picture p = picture_of(a, block);
  require(p.channels % block == 0 && p.channels / block % block == 0, Code::shape,
          "{}: {} channels of {} do not divide by {} x {}", a.op(), p.channels, to_string(a.tensor("self")), block,
          block);
  return {with_picture(a.tensor("self"), p.channels / block / block, p.h * block, p.w * block)};
}
Metas unshuffled(const Args& a, int64_t block) {
  const Picture p = picture_of(a, block);
  require(p.h % block == 0 && p.w % block == 0, Code::shape, "{}: the height {} and width {} of {} do not divide by {}",
          a.op(), p.h, p.w, to_string(a.tensor("self")), block);
  return {with_picture(a.tensor("self"), p.channels * block * block, p.h / block, p.w / block)};
}

// Both directions walk (n, c, y, by, x, bx); the strides of the deep side follow from the order.
struct Walk {
  Shape shape;
  Strides deep, wide;
};
Walk walk_of(int64_t batch, int64_t c, int64_t h, int64_t w, int64_t b, Order order) {
  const int64_t plane = h * w;
  const bool pixel = order == Order::pixel;
  Walk out;
  out.shape = {batch, c, h, b, w, b};
  out.deep = {c * b * b * plane,      pixel ? b * b * plane : plane, w, (pixel ? b : b * c) * plane, 1,
              (pixel ? 1 : c) * plane};
  out.wide = {c * b * b * plane, b * b * plane, b * w * b, w * b, b, 1};
  return out;
}
Bound bind_shuffle(const Args& a, const Metas&, int64_t b, Order order) {
  const Picture p = picture_of(a, b);
  const Walk k = walk_of(p.batch, p.channels / b / b, p.h, p.w, b, order);
  return bind_moves(a, {Move{0, 0, k.shape, k.deep, k.wide}});
}
Bound bind_unshuffle(const Args& a, const Metas&, int64_t b, Order order) {
  const Picture p = picture_of(a, b);
  const Walk k = walk_of(p.batch, p.channels, p.h / b, p.w / b, b, order);
  return bind_moves(a, {Move{0, 0, k.shape, k.wide, k.deep}});
}

// The place in the deep tensor of element (n, c, y, x) of the wide one.
int64_t deep_place(int64_t n, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t h, int64_t w, int64_t b,
                   Order order) {
  const int64_t by = y % b, bx = x % b;
  const int64_t channel = order == Order::pixel ? (c * b + by) * b + bx : (by * b + bx) * channels + c;
  return ((n * channels * b * b + channel) * (h / b) + y / b) * (w / b) + x / b;
}
Tensor shuffle_oracle(const Tensor& x, const Shape& shape, int64_t b, Order order) {
  const int64_t rank = static_cast<int64_t>(shape.size()), c = shape[rank - 3], h = shape[rank - 2],
                w = shape[rank - 1];
  return rearranged(x, shape, [&](const Ints& i) {
    const int64_t n = place(Shape(shape.begin(), shape.end() - 3), Ints(i.begin(), i.end() - 3));
    return deep_place(n, i[rank - 3], i[rank - 2], i[rank - 1], c, h, w, b, order);
  });
}
// The inverse: every wide element is put where the shuffle would take it from.
Tensor unshuffle_oracle(const Tensor& x, const Shape& shape, int64_t b, Order order) {
  const int64_t c = x.dim(-3), h = x.dim(-2), w = x.dim(-1), rank = x.rank();
  std::vector<int64_t> source(static_cast<size_t>(x.numel()));
  int64_t from = 0;
  each_index(x.shape(), [&](const Ints& i) {
    const int64_t n = place(Shape(x.shape().begin(), x.shape().end() - 3), Ints(i.begin(), i.end() - 3));
    source[static_cast<size_t>(deep_place(n, i[rank - 3], i[rank - 2], i[rank - 1], c, h, w, b, order))] = from++;
  });
  return rearranged(x, shape, [&](const Ints& i) { return source[static_cast<size_t>(place(shape, i))]; });
}

Order order_of(const Args& a) {
  const std::string mode = a.text("mode");
  require(mode == "DCR" || mode == "CRD", Code::value, "{}: mode '{}' is neither DCR nor CRD", a.op(), mode);
  return mode == "CRD" ? Order::pixel : Order::depth;
}
Metas pixel_shuffle(const Args& a) { return shuffled(a, a.integer("upscale_factor")); }
Metas pixel_unshuffle(const Args& a) {
  Metas out = unshuffled(a, a.integer("downscale_factor"));
  if (a.tensor("self").numel() == 0) out = {a.tensor("self").like()};  // ATen returns an empty tensor as it is
  return out;
}
Metas depth_to_space(const Args& a) {
  order_of(a);
  return shuffled(a, a.integer("blocksize"));
}
Metas space_to_depth(const Args& a) {
  order_of(a);
  return unshuffled(a, a.integer("blocksize"));
}

void import_depth_to_space(Importing& node) {
  node.output(
      0, node.emit("custom::depth_to_space", {node.input(0), node.integer("blocksize"), node.text("mode", "DCR")}));
}
void import_space_to_depth(Importing& node) {
  node.output(
      0, node.emit("custom::space_to_depth", {node.input(0), node.integer("blocksize"), node.text("mode", "DCR")}));
}

}  // namespace

namespace decls {
Decls blocks() {
  Decls out = {
      movement_op(
          "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", pixel_shuffle,
          {cpu("strided_copy_cpu",
               [](const Args& a, const Metas& o) {
                 return bind_shuffle(a, o, a.integer("upscale_factor"), Order::pixel);
               })},
          [](const Args& a, const std::vector<Tensor>& x) {
            return std::vector<Tensor>{
                shuffle_oracle(x[0], pixel_shuffle(a)[0].shape, a.integer("upscale_factor"), Order::pixel)};
          },
          pixel_shuffle_samples),
      movement_op(
          "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", pixel_unshuffle,
          {cpu("strided_copy_cpu",
               [](const Args& a, const Metas& o) {
                 return bind_unshuffle(a, o, a.integer("downscale_factor"), Order::pixel);
               })},
          [](const Args& a, const std::vector<Tensor>& x) {
            return std::vector<Tensor>{
                unshuffle_oracle(x[0], pixel_unshuffle(a)[0].shape, a.integer("downscale_factor"), Order::pixel)};
          },
          pixel_unshuffle_samples),
      movement_op(
          "custom::depth_to_space(Tensor self, int blocksize, str mode='DCR') -> Tensor", depth_to_space,
          {cpu("strided_copy_cpu",
               [](const Args& a, const Metas& o) { return bind_shuffle(a, o, a.integer("blocksize"), order_of(a)); })},
          [](const Args& a, const std::vector<Tensor>& x) {
            return std::vector<Tensor>{
                shuffle_oracle(x[0], depth_to_space(a)[0].shape, a.integer("blocksize"), order_of(a))};
          },
          depth_to_space_samples),
      movement_op(
          "custom::space_to_depth(Tensor self, int blocksize, str mode='DCR') -> Tensor", space_to_depth,
          {cpu(
              "strided_copy_cpu",
              [](const Args& a, const Metas& o) { return bind_unshuffle(a, o, a.integer("blocksize"), order_of(a)); })},
          [](const Args& a, const std::vector<Tensor>& x) {
            return std::vector<Tensor>{
                unshuffle_oracle(x[0], space_to_depth(a)[0].shape, a.integer("blocksize"), order_of(a))};
          },
          space_to_depth_samples),
  };
  out[2].imports = {{"DepthToSpace", import_depth_to_space, 1}};
  out[2].source = "ONNX DepthToSpace";
  out[3].imports = {{"SpaceToDepth", import_space_to_depth, 1}};
  out[3].source = "ONNX SpaceToDepth";
  return out;
}
}  // namespace decls
}  // namespace nbx
