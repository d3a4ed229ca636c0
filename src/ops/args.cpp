// SPDX-License-Identifier: Apache-2.0
#include "ops/args.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include "base/check.h"

namespace nbx {

Meta::Meta(DType type, Shape extents) : dtype(type), shape(std::move(extents)), strides(contiguous_strides(shape)) {}

Meta Meta::of(const Tensor& tensor, bool with_value) {
  Meta m;
  m.dtype = tensor.dtype();
  m.shape = tensor.shape();
  m.strides = tensor.strides();
  if (with_value) m.known = tensor;
  return m;
}

int64_t Meta::dim(int64_t d) const {
  const int64_t r = rank();
  require(d >= -r && d < r, Code::index, "dim {} is out of range for {} (rank {})", d, to_string(*this), r);
  return shape[static_cast<size_t>(d < 0 ? d + r : d)];
}

bool Meta::contiguous() const {
  if (nbx::numel(shape) == 0) return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::string to_string(const Meta& meta) { return describe(meta.dtype, meta.shape); }

Args::Args(const Schema* schema, std::vector<Value> values, Metas operands, PackCache* packs)
    : schema_(schema), values_(std::move(values)), operands_(std::move(operands)), packs_(packs) {
  NBX_ASSERT(values_.size() == schema_->params.size());
}

const Value& Args::value(std::string_view param) const {
  const int i = schema_->find(param);
  if (i < 0) fail(Code::internal, "nbx defect: {} has no parameter '{}'", schema_->full_name(), param);
  return values_[static_cast<size_t>(i)];
}

namespace {

[[noreturn]] void wrong_kind(const Args& a, std::string_view param, const char* wanted, const Value& got) {
  fail(Code::type, "{}: argument '{}' must be {}, it is {}", a.op(), param, wanted, to_string(got));
}

}  // namespace

const Meta* Args::optional_tensor(std::string_view param) const {
  const Value& v = value(param);
  if (is_none(v)) return nullptr;
  const auto* ref = std::get_if<TensorRef>(&v);
  if (!ref) wrong_kind(*this, param, "a tensor", v);
  return ref->defined() ? &operands_[static_cast<size_t>(ref->id)] : nullptr;
}

const Meta& Args::tensor(std::string_view param) const {
  const Meta* m = optional_tensor(param);
  require(m != nullptr, Code::type, "{}: argument '{}' must be a tensor, it is None", op(), param);
  return *m;
}

std::vector<const Meta*> Args::tensors(std::string_view param) const {
  const Value& v = value(param);
  if (is_none(v)) return {};
  const auto* refs = std::get_if<TensorRefs>(&v);
  if (!refs) wrong_kind(*this, param, "a list of tensors", v);
  std::vector<const Meta*> out;
  for (const TensorRef r : *refs) out.push_back(r.defined() ? &operands_[static_cast<size_t>(r.id)] : nullptr);
  return out;
}

int Args::operand(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* ref = std::get_if<TensorRef>(&v)) return ref->id;
  if (const auto* refs = std::get_if<TensorRefs>(&v))
    for (const TensorRef r : *refs)
      if (r.defined()) return r.id;
  return -1;
}

bool Args::has(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* ref = std::get_if<TensorRef>(&v)) return ref->defined();
  return !is_none(v);
}

int64_t Args::integer(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* i = std::get_if<int64_t>(&v)) return *i;
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  if (const auto* l = std::get_if<Ints>(&v); l && l->size() == 1) return (*l)[0];
  wrong_kind(*this, param, "an integer", v);
}

double Args::number(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* d = std::get_if<double>(&v)) return *d;
  if (const auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  wrong_kind(*this, param, "a number", v);
}

bool Args::flag(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  if (const auto* i = std::get_if<int64_t>(&v)) return *i != 0;
  wrong_kind(*this, param, "a bool", v);
}

Ints Args::ints(std::string_view param) const {
  const Value& v = value(param);
  if (is_none(v)) return {};
  if (const auto* l = std::get_if<Ints>(&v)) return *l;
  if (const auto* i = std::get_if<int64_t>(&v)) return Ints{*i};
  wrong_kind(*this, param, "a list of integers", v);
}

Doubles Args::numbers(std::string_view param) const {
  const Value& v = value(param);
  if (is_none(v)) return {};
  if (const auto* l = std::get_if<Doubles>(&v)) return *l;
  if (const auto* l = std::get_if<Ints>(&v)) return Doubles(l->begin(), l->end());
  if (const auto* d = std::get_if<double>(&v)) return {*d};
  wrong_kind(*this, param, "a list of numbers", v);
}

Scalar Args::scalar(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* b = std::get_if<bool>(&v)) return {*b};
  if (const auto* i = std::get_if<int64_t>(&v)) return {*i};
  if (const auto* d = std::get_if<double>(&v)) return {*d};
  if (const auto* c = std::get_if<std::complex<double>>(&v)) return {*c};
  if (const auto* r = std::get_if<TensorRef>(&v); r && r->defined()) {
    const Tensor& t = operands_[static_cast<size_t>(r->id)].known;
    if (t.defined() && t.numel() == 1) {
      if (t.dtype() == DType::bool_) return {t.item_int() != 0};
      if (is_integral(t.dtype())) return {t.item_int()};
      return {t.item()};
    }
  }
  wrong_kind(*this, param, "a number", v);
}

std::string Args::text(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  wrong_kind(*this, param, "a string", v);
}

DType Args::dtype(std::string_view param) const {
  const Value& v = value(param);
  if (const auto* d = std::get_if<DType>(&v)) return *d;
  wrong_kind(*this, param, "a dtype", v);
}

std::optional<DType> Args::optional_dtype(std::string_view param) const {
  if (is_none(value(param))) return std::nullopt;
  return dtype(param);
}

namespace {

bool is_number(const Value& v) {
  return std::holds_alternative<bool>(v) || std::holds_alternative<int64_t>(v) || std::holds_alternative<double>(v) ||
         std::holds_alternative<std::complex<double>>(v);
}
bool is_deferred(const Value& v) {
  return std::holds_alternative<FromTensor>(v) || std::holds_alternative<Sym>(v) || std::holds_alternative<Syms>(v);
}

// The value in the parameter's own form, or nothing when it is of a wrong kind.
std::optional<Value> fit(const Param& p, Value v) {
  if (is_deferred(v) && p.type != ParamType::tensor && p.type != ParamType::tensors) {
    if (p.list_size > 1 && std::holds_alternative<Sym>(v))
      return Syms(static_cast<size_t>(p.list_size), std::get<Sym>(v));
    return v;
  }
  switch (p.type) {
    case ParamType::tensor:
      if (std::holds_alternative<TensorRef>(v) || is_number(v)) return v;
      return std::nullopt;
    case ParamType::tensors: {
      if (const auto* refs = std::get_if<TensorRefs>(&v)) {
        if (!p.elements_optional && !std::all_of(refs->begin(), refs->end(), [](TensorRef r) { return r.defined(); }))
          return std::nullopt;
        return v;
      }
      if (const auto* ref = std::get_if<TensorRef>(&v)) return TensorRefs{*ref};
      if (const auto* list = std::get_if<Ints>(&v); list && list->empty()) return TensorRefs{};
      return std::nullopt;
    }
    case ParamType::scalar:
      if (is_number(v) || std::holds_alternative<TensorRef>(v)) return v;
      return std::nullopt;
    case ParamType::integer:
      if (std::holds_alternative<int64_t>(v)) return v;
      if (const auto* b = std::get_if<bool>(&v)) return static_cast<int64_t>(*b);
      return std::nullopt;
    case ParamType::integers:
    case ParamType::booleans:
      if (const auto* list = std::get_if<Ints>(&v)) {
        if (p.list_size > 1 && list->size() == 1) return Ints(static_cast<size_t>(p.list_size), (*list)[0]);
        return v;
      }
      if (const auto* i = std::get_if<int64_t>(&v)) return Ints(static_cast<size_t>(std::max(1, p.list_size)), *i);
      if (const auto* b = std::get_if<bool>(&v)) return Ints(static_cast<size_t>(std::max(1, p.list_size)), *b);
      return std::nullopt;
    case ParamType::number:
      if (std::holds_alternative<double>(v)) return v;
      if (const auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
      if (const auto* b = std::get_if<bool>(&v)) return static_cast<double>(*b);
      return std::nullopt;
    case ParamType::numbers:
      if (std::holds_alternative<Doubles>(v)) return v;
      if (const auto* list = std::get_if<Ints>(&v)) return Doubles(list->begin(), list->end());
      if (const auto* d = std::get_if<double>(&v)) return Doubles{*d};
      return std::nullopt;
    case ParamType::boolean:
      if (std::holds_alternative<bool>(v)) return v;
      if (const auto* i = std::get_if<int64_t>(&v)) return *i != 0;
      return std::nullopt;
    case ParamType::string:
      if (std::holds_alternative<std::string>(v)) return v;
      return std::nullopt;
    case ParamType::dtype:
      if (std::holds_alternative<DType>(v)) return v;
      return std::nullopt;
  }
  return std::nullopt;
}

const char* kind_name(ParamType t) {
  switch (t) {
    case ParamType::tensor:
      return "a tensor";
    case ParamType::tensors:
      return "a list of tensors";
    case ParamType::scalar:
      return "a number";
    case ParamType::integer:
      return "an integer";
    case ParamType::integers:
      return "a list of integers";
    case ParamType::number:
      return "a number";
    case ParamType::numbers:
      return "a list of numbers";
    case ParamType::boolean:
      return "a bool";
    case ParamType::booleans:
      return "a list of bools";
    case ParamType::string:
      return "a string";
    case ParamType::dtype:
      return "a dtype";
  }
  return "?";
}

}  // namespace

std::vector<Value> bind_values(const Schema& schema, std::vector<Value> positional,
                               std::vector<std::pair<std::string, Value>> keywords) {
  const std::string op = schema.full_name();
  std::vector<Value> out(schema.params.size());
  std::vector<bool> given(schema.params.size(), false);
  size_t places = 0;
  for (const Param& p : schema.params) places += !p.keyword_only;
  require(positional.size() <= places, Code::type, "{}: {} positional arguments given, it takes {}: {}", op,
          positional.size(), places, schema.text);
  for (size_t i = 0; i < positional.size(); ++i) {
    out[i] = std::move(positional[i]);
    given[i] = true;
  }
  for (auto& [param, v] : keywords) {
    const int i = schema.find(param);
    require(i >= 0, Code::type, "{}: unknown argument '{}': {}", op, param, schema.text);
    require(!given[static_cast<size_t>(i)], Code::type, "{}: argument '{}' is given twice", op, param);
    out[static_cast<size_t>(i)] = std::move(v);
    given[static_cast<size_t>(i)] = true;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const Param& p = schema.params[i];
    if (!given[i]) {
      require(p.has_default || p.optional, Code::type, "{}: argument '{}' is missing: {}", op, p.name, schema.text);
      out[i] = p.default_value;
      continue;
    }
    const bool absent = is_none(out[i]) || (p.type == ParamType::tensor && std::holds_alternative<TensorRef>(out[i]) &&
                                            !std::get<TensorRef>(out[i]).defined());
    if (absent && p.optional) {
      out[i] = None{};
      continue;
    }
    auto fitted = absent ? std::nullopt : fit(p, out[i]);
    require(fitted.has_value(), Code::type, "{}: argument '{}' must be {}, it is {}: {}", op, p.name, kind_name(p.type),
            to_string(out[i]), schema.text);
    out[i] = std::move(*fitted);
  }
  return out;
}

Args build_args(const Schema& schema, const std::vector<Value>& values, FunctionRef<Meta(TensorRef)> meta,
                PackCache* packs, std::vector<int>* sources) {
  std::vector<Value> bound = values;
  Metas operands;
  if (sources) sources->clear();
  const auto add = [&](TensorRef ref) {
    if (!ref.defined()) return ref;
    operands.push_back(meta(ref));
    if (sources) sources->push_back(ref.id);
    return TensorRef{static_cast<int>(operands.size()) - 1};
  };
  for (size_t i = 0; i < bound.size(); ++i) {
    Value& v = bound[i];
    if (auto* ref = std::get_if<TensorRef>(&v)) {
      *ref = add(*ref);
    } else if (auto* refs = std::get_if<TensorRefs>(&v)) {
      for (TensorRef& r : *refs) r = add(r);
    } else if (schema.params[i].type == ParamType::tensor && is_number(v)) {
      Tensor t;
      if (const auto* b = std::get_if<bool>(&v)) t = Tensor::scalar<bool>(*b);
      if (const auto* n = std::get_if<int64_t>(&v)) t = Tensor::scalar<int64_t>(*n);
      if (const auto* d = std::get_if<double>(&v)) t = Tensor::scalar<double>(*d);
      if (const auto* c = std::get_if<std::complex<double>>(&v)) t = Tensor::scalar<std::complex<double>>(*c);
      Meta m = Meta::of(t, true);
      m.weak = true;
      operands.push_back(std::move(m));
      if (sources) sources->push_back(-1);
      v = TensorRef{static_cast<int>(operands.size()) - 1};
    }
  }
  return Args(&schema, std::move(bound), std::move(operands), packs);
}

// PackCache

struct PackCache::Impl {
  struct Entry {
    std::once_flag once;
    std::shared_ptr<const void> value;
    std::shared_ptr<Storage> keep;  // the key holds the storage's address, so the storage must stay
  };
  using Key = std::tuple<const Storage*, int64_t, std::vector<int64_t>, std::string>;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<Entry>> entries;
  std::atomic<int64_t> bytes{0};
};

PackCache::PackCache() : impl_(std::make_unique<Impl>()) {}
PackCache::~PackCache() = default;

std::shared_ptr<const void> PackCache::get(const Tensor& weight, const std::string& kind,
                                           const std::function<std::shared_ptr<const void>()>& make) {
  std::vector<int64_t> layout(weight.shape().begin(), weight.shape().end());
  layout.insert(layout.end(), weight.strides().begin(), weight.strides().end());
  layout.push_back(static_cast<int64_t>(weight.dtype()));
  std::shared_ptr<Impl::Entry> entry;
  {
    std::lock_guard lock(impl_->mutex);
    auto& slot = impl_->entries[{weight.storage().get(), weight.offset(), std::move(layout), kind}];
    if (!slot) slot = std::make_shared<Impl::Entry>();
    entry = slot;
  }
  std::call_once(entry->once, [&] {
    entry->value = make();
    entry->keep = weight.storage();
  });
  return entry->value;
}

int64_t PackCache::bytes() const { return impl_->bytes; }
void PackCache::add_bytes(int64_t bytes) { impl_->bytes += bytes; }

}  // namespace nbx
