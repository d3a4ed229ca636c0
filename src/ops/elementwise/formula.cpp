// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/formula.h"

#include <map>
#include <memory>
#include <mutex>

#include "shape/broadcast.h"

namespace nbx::pointwise {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Formula>> rows;
};
Registry& registry() {
  static Registry all;
  return all;
}

const Formula& formula_of(const Args& args) {
  const Formula* f = find_formula(args.schema().full_name());
  NBX_ASSERT(f != nullptr);
  return *f;
}

bool is_tensor(const Args& args, const char* param) { return std::holds_alternative<TensorRef>(args.value(param)); }

Operand promoted(const Args& args, const char* param) {
  return is_tensor(args, param) ? operand(args.tensor(param)) : number(args.scalar(param).category());
}

// Is the operand one value whatever the other's shape, so that it counts by category only?
bool is_single(const Args& args, const char* param) {
  return !is_tensor(args, param) || args.tensor(param).rank() == 0;
}

std::optional<Scalar> known_number(const Args& args, const char* param) {
  if (!is_tensor(args, param)) return args.scalar(param);
  const Meta& m = args.tensor(param);
  if (m.known.defined() && m.known.numel() == 1 && !is_complex(m.dtype) && m.dtype != DType::uint64)
    return args.scalar(param);
  return std::nullopt;
}

Shape broadcast_shape(const Formula& f, const Args& args) {
  Shape shape;
  for (const char* param : f.operands)
    if (!is_none(args.value(param)) && is_tensor(args, param))
      shape = broadcast(shape, args.tensor(param).shape, args.schema().full_name());
  return shape;
}

}  // namespace

const Formula* find_formula(const std::string& full_name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto it = all.rows.find(full_name);
  return it == all.rows.end() ? nullptr : it->second.get();
}

Types types_of(const Formula& f, const Args& args) {
  std::vector<Operand> operands;
  for (const char* param : f.operands)
    if (!is_none(args.value(param))) operands.push_back(promoted(args, param));
  const RuleResult r = op_dtypes(f.rule_of ? f.rule_of(args) : f.rule, operands);
  require(!is_complex(r.common) && !is_complex(r.result), Code::unsupported,
          "{}: complex operands ({}) are not supported yet; pass real tensors", args.schema().full_name(),
          describe(operands));
  const bool raised = is_integral(r.common, true) && is_floating(r.result);
  return {r.common, raised ? r.result : r.common, r.result};
}

Metas infer_pointwise(const Args& args) {
  const Formula& f = formula_of(args);
  if (f.infer) return f.infer(args);
  const Types types = types_of(f, args);
  if (f.check) f.check(args);
  return {Meta(types.result, broadcast_shape(f, args))};
}

std::optional<Scalar> Lowering::number(const char* param) const { return known_number(args, param); }

Val Lowering::operand(const char* param, std::optional<DType> as) const {
  const DType wanted = as.value_or(types.compute);
  const bool wide = is_half(wanted) && is_single(args, param) && !formula.round_numbers;
  if (!is_tensor(args, param)) {
    const Scalar s = args.scalar(param);
    return wide ? b.wide_constant(s.as_double(), DType::float32) : b.constant(s, wanted);
  }
  const Val v = in[static_cast<size_t>(args.operand(param))];
  return b.cast(v, wide && is_floating(b.dtype(v)) && !is_half(b.dtype(v)) ? DType::float32 : wanted);
}

Params Lowering::params() const {
  Params p;
  for (size_t i = 0; i < formula.scalars.size(); ++i) {
    const Scalar s = args.scalar(formula.scalars[i]);
    p.f[i] = s.as_double();
    if (i < 2) p.i[i] = s.as_int();
  }
  return p;
}

Val lower(const Formula& f, Builder& b, const Args& args, const std::vector<Val>& in) {
  // Rows with their own infer and lower may have no dtype rule at all.
  const Types types = f.rule || f.rule_of ? types_of(f, args) : Types{DType::float32, DType::float32, DType::float32};
  const Lowering l{b, f, args, in, types};
  if (f.lower) return f.lower(l);
  const Lane lane = l.lane();
  Fn function;
  if (lane == Lane::f32 || lane == Lane::f64) {
    if (f.math)
      function = fn(*f.math, lane);
    else if (f.real)
      function = fn(*f.real, lane);
  } else if (lane == Lane::b8) {
    if (f.boolean) function = fn(*f.boolean);
  } else if (f.whole) {
    function = fn(*f.whole, lane);
  }
  require(function.defined(), Code::unsupported, "{}: {} is not supported; convert the operands first",
          args.schema().full_name(), name(types.compute));
  const std::vector<const char*>& o = f.operands;
  switch (o.size()) {
    case 1:
      return b.step(function, types.result, {l.operand(o[0])}, l.params());
    case 2:
      return b.step(function, types.result, {l.operand(o[0]), l.operand(o[1])}, l.params());
    default:
      return b.step(function, types.result, {l.operand(o[0]), l.operand(o[1]), l.operand(o[2])}, l.params());
  }
}

Bound bind_pointwise(const Args& args, const Metas& outputs) {
  const Formula& f = formula_of(args);
  if (outputs.front().alias >= 0) return [](const Run&) {};
  Builder b;
  std::vector<Val> in;
  for (size_t i = 0; i < args.operands().size(); ++i) {
    const Meta& m = args.operands()[i];
    // A number's value is part of the program. A tensor's is not, even when it is known: it may be large.
    if (m.weak && m.known.defined() && !is_complex(m.dtype)) {
      const Scalar value = m.dtype == DType::bool_       ? Scalar{m.known.item_int() != 0}
                           : is_integral(m.dtype, false) ? Scalar{m.known.item_int()}
                                                         : Scalar{m.known.item()};
      in.push_back(b.constant(value, m.dtype));
    } else {
      in.push_back(b.add_input(input_of(static_cast<int>(i), m)));
    }
  }
  const Val v = lower(f, b, args, in);
  b.output(b.dtype(v) == outputs.front().dtype ? v : b.cast(v, outputs.front().dtype));
  return compile(b, outputs.front().shape);
}

double rounded_to(double value, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::float16:
      return to_float(to_float16(value));
    case DType::bfloat16:
      return to_float(to_bfloat16(value));
    default:
      return value;
  }
}

std::vector<double> doubles_as(const Tensor& tensor, const Shape& shape) { return tensor.expand(shape).to_doubles(); }
std::vector<int64_t> ints_as(const Tensor& tensor, const Shape& shape) { return tensor.expand(shape).to_ints(); }

std::vector<Tensor> oracle_pointwise(const Args& args, const std::vector<Tensor>& operands) {
  const Formula& f = formula_of(args);
  if (f.oracle) return f.oracle(args, operands);
  const Types types = types_of(f, args);
  const Shape shape = infer_pointwise(args).front().shape;
  const int64_t n = numel(shape);
  const size_t count = f.operands.size();

  if (is_floating(types.compute)) {
    std::vector<std::vector<double>> x;
    for (const char* param : f.operands) {
      const bool tensor = is_tensor(args, param);
      const DType from = tensor ? args.tensor(param).dtype : DType::float64;
      x.push_back(tensor ? doubles_as(operands[static_cast<size_t>(args.operand(param))], shape)
                         : std::vector<double>(static_cast<size_t>(n), args.scalar(param).as_double()));
      // What a conversion rounds is part of the operand, not of the formula: large integers, and numbers where the row
      // says so.
      const bool single = is_single(args, param);
      const bool rounds = single ? f.round_numbers || types.compute == DType::float32 : from != types.compute;
      if (rounds || is_integral(from, true))
        for (double& v : x.back()) v = rounded_to(v, types.compute);
    }
    std::vector<double> p;
    for (const char* s : f.scalars) p.push_back(args.scalar(s).as_double());
    Tensor out = Tensor::empty(shape, types.result == DType::bool_ ? DType::bool_ : DType::float64);
    std::vector<double> row(count);
    for (int64_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < count; ++k) row[k] = x[k][static_cast<size_t>(i)];
      const double y = f.f64(row.data(), p.data());
      if (types.result == DType::bool_)
        out.mutable_data<bool>()[i] = y != 0;
      else
        out.mutable_data<double>()[i] = y;
    }
    return {out};
  }

  std::vector<std::vector<int64_t>> x;
  for (const char* param : f.operands)
    x.push_back(is_tensor(args, param) ? ints_as(operands[static_cast<size_t>(args.operand(param))], shape)
                                       : std::vector<int64_t>(static_cast<size_t>(n), args.scalar(param).as_int()));
  std::vector<int64_t> p;
  for (const char* s : f.scalars) p.push_back(args.scalar(s).as_int());
  Tensor out = Tensor::empty(shape, DType::int64);
  std::vector<int64_t> row(count);
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < count; ++k) row[k] = x[k][static_cast<size_t>(i)];
    const int64_t y = f.i64(row.data(), p.data());
    out.mutable_data<int64_t>()[i] = types.result == DType::bool_ ? y != 0 : y;
  }
  return {out};
}

Decls declare(std::vector<Formula> rows) {
  Decls out;
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (Formula& row : rows) {
    OpDecl d;
    d.schema = row.schema;
    d.infer = infer_pointwise;
    d.cost = pointwise_cost;
    d.keys = shape_keys;
    d.kernels = {cpu("pointwise_cpu", bind_pointwise, true)};
    d.oracle = oracle_pointwise;
    d.samples = row.samples;
    d.tolerance = row.tolerance;
    d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
    d.flags = (row.pointwise ? kPointwise : kNone) | kInPlace;
    d.imports = row.imports;
    d.aliases = row.aliases;
    d.source = row.source;
    out.push_back(std::move(d));
    all.rows[parse_schema(row.schema).full_name()] = std::make_unique<Formula>(std::move(row));
  }
  return out;
}

}  // namespace nbx::pointwise
