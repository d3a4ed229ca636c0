// SPDX-License-Identifier: Apache-2.0
// A call's arguments, bound to its schema: tensors as metas (shape, dtype, strides, perhaps a known value), the rest as
// concrete values. infer, cost, keys, serves and bind all read this one object.
#pragma once
#include <nbx/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "ops/schema.h"
#include "ops/value.h"

namespace nbx {

class PackCache;

struct Meta {
  DType dtype = DType::float32;
  Shape shape;
  Strides strides;     // elements
  int alias = -1;      // outputs only: shares storage with this operand (its flat index); then strides and offset bind
  int64_t offset = 0;  // outputs that alias: elements from the operand's first element
  bool weak = false;   // a wrapped number: takes part in promotion by category only
  Tensor known;        // the value, when it is known before the run (weights, folded constants); else undefined

  Meta() = default;
  Meta(DType type, Shape extents);  // contiguous
  static Meta of(const Tensor& tensor, bool with_value = false);

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(int64_t d) const;  // negative d counts from the end; error (index) outside
  int64_t numel() const { return nbx::numel(shape); }
  int64_t bytes() const { return numel() * itemsize(dtype); }
  bool contiguous() const;
  Meta like() const { return Meta(dtype, shape); }
  Meta with(DType type) const { return Meta(type, shape); }
  Meta with(Shape extents) const { return Meta(dtype, std::move(extents)); }
};
using Metas = std::vector<Meta>;
std::string to_string(const Meta& meta);  // "float32[4, 768]"

class Args {
 public:
  Args() = default;
  // `values` in schema order, complete (see bind_values); TensorRef ids index `operands`.
  Args(const Schema* schema, std::vector<Value> values, Metas operands, PackCache* packs = nullptr);

  const Schema& schema() const { return *schema_; }
  const std::vector<Value>& values() const { return values_; }
  const Metas& operands() const { return operands_; }  // tensor operands in argument order, lists flattened
  Metas& operands() { return operands_; }
  PackCache* packs() const { return packs_; }

  // By parameter name. A missing parameter is a defect; a wrong kind is an error (type) naming op and parameter.
  const Meta& tensor(std::string_view param) const;
  const Meta* optional_tensor(std::string_view param) const;       // null when absent
  std::vector<const Meta*> tensors(std::string_view param) const;  // null entries where Tensor?[] has none
  int operand(
      std::string_view param) const;       // flat index for Run::in, -1 when absent; of a list: its first present one
  bool has(std::string_view param) const;  // not None
  int64_t integer(std::string_view param) const;
  double number(std::string_view param) const;
  bool flag(std::string_view param) const;
  Ints ints(std::string_view param) const;  // None gives {}
  Doubles numbers(std::string_view param) const;
  Scalar scalar(std::string_view param) const;  // a one-element known tensor counts, too
  std::string text(std::string_view param) const;
  DType dtype(std::string_view param) const;
  std::optional<DType> optional_dtype(std::string_view param) const;
  const Value& value(std::string_view param) const;

  std::string op() const { return schema_->name; }  // for messages

 private:
  const Schema* schema_ = nullptr;
  std::vector<Value> values_;
  Metas operands_;
  PackCache* packs_ = nullptr;
};

// Positional and keyword arguments → one value per parameter: defaults filled in, single values spread for int[n],
// kinds checked. Error (type) naming op, parameter and what was given.
std::vector<Value> bind_values(const Schema& schema, std::vector<Value> positional,
                               std::vector<std::pair<std::string, Value>> keywords = {});

// Values of a call whose TensorRefs name tensors by the caller's own ids → Args: operands in parameter order, as `meta`
// describes them. Numbers in the place of tensors become weak 0-d operands with known values. `sources`, when given,
// gets the caller's id of each operand (-1 for such numbers).
Args build_args(const Schema& schema, const std::vector<Value>& values, FunctionRef<Meta(TensorRef)> meta,
                PackCache* packs = nullptr, std::vector<int>* sources = nullptr);

// What kernels prepare from weights (packed panels), shared by every program of a model. Thread-safe.
class PackCache {
 public:
  PackCache();
  ~PackCache();
  // `kind` names the form, parameters included ("gemm.b.f32"). Made once for each (storage, view, kind).
  std::shared_ptr<const void> get(const Tensor& weight, const std::string& kind,
                                  const std::function<std::shared_ptr<const void>()>& make);
  int64_t bytes() const;  // what has been reported by add_bytes
  void add_bytes(int64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Through the args' cache, or made fresh when there is none.
template <class T>
std::shared_ptr<const T> packed(const Args& args, const Tensor& weight, const std::string& kind,
                                const std::function<std::shared_ptr<const T>()>& make) {
  if (!args.packs()) return make();
  return std::static_pointer_cast<const T>(
      args.packs()->get(weight, kind, [&] { return std::static_pointer_cast<const void>(make()); }));
}

}  // namespace nbx
