// SPDX-License-Identifier: Apache-2.0
#include <nbx/c_api.h>
#include <nbx/error.h>
#include <nbx/session.h>
#include <nbx/version.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

using nbx::Code;
using nbx::DType;
using nbx::fail;
using nbx::require;

struct nbx_model {
  std::shared_ptr<const nbx::Model> model;
  std::vector<std::vector<int64_t>> input_dims, output_dims;
};

struct nbx_session {
  std::shared_ptr<const nbx::Model> model;
  std::unique_ptr<nbx::Session> session;
};

struct nbx_result {
  std::shared_ptr<const nbx::Model> model;
  std::vector<nbx::Tensor> outputs;
  std::vector<std::vector<int64_t>> dims;
};

namespace {

// The numbers of the header, which never change, whatever order the library's own table has.
constexpr std::array<std::pair<nbx_dtype, DType>, 17> kDtypes{{
    {NBX_FLOAT32, DType::float32},
    {NBX_FLOAT64, DType::float64},
    {NBX_FLOAT16, DType::float16},
    {NBX_BFLOAT16, DType::bfloat16},
    {NBX_FLOAT8_E4M3FN, DType::float8_e4m3fn},
    {NBX_FLOAT8_E5M2, DType::float8_e5m2},
    {NBX_INT8, DType::int8},
    {NBX_INT16, DType::int16},
    {NBX_INT32, DType::int32},
    {NBX_INT64, DType::int64},
    {NBX_UINT8, DType::uint8},
    {NBX_UINT16, DType::uint16},
    {NBX_UINT32, DType::uint32},
    {NBX_UINT64, DType::uint64},
    {NBX_BOOL, DType::bool_},
    {NBX_COMPLEX64, DType::complex64},
    {NBX_COMPLEX128, DType::complex128},
}};

const DType* dtype_of(nbx_dtype number) {
  for (const auto& [c, dtype] : kDtypes)
    if (c == number) return &dtype;
  return nullptr;
}

nbx_dtype number_of(DType dtype) {
  for (const auto& [c, d] : kDtypes)
    if (d == dtype) return c;
  return NBX_UNKNOWN_DTYPE;
}

nbx_status status_of(Code code) {
  switch (code) {
    case Code::value:
      return NBX_ERROR_VALUE;
    case Code::shape:
      return NBX_ERROR_SHAPE;
    case Code::dtype:
      return NBX_ERROR_DTYPE;
    case Code::index:
      return NBX_ERROR_INDEX;
    case Code::type:
      return NBX_ERROR_TYPE;
    case Code::unsupported:
      return NBX_ERROR_UNSUPPORTED;
    case Code::file:
      return NBX_ERROR_FILE;
    case Code::budget:
      return NBX_ERROR_BUDGET;
    case Code::cancelled:
      return NBX_ERROR_CANCELLED;
    case Code::internal:
      break;
  }
  return NBX_ERROR_INTERNAL;
}

// Long texts are cut: keeping an error must not be what fails.
thread_local std::array<char, 4096> last_error{};

nbx_status remember(nbx_status status, const char* text) noexcept {
  std::strncpy(last_error.data(), text, last_error.size() - 1);
  return status;
}

template <class F>
nbx_status guarded(F&& body) noexcept {
  try {
    body();
    return NBX_OK;
  } catch (const nbx::Error& e) {
    return remember(status_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return remember(NBX_ERROR_BUDGET, "the process has no memory left");
  } catch (const std::exception& e) {
    return remember(NBX_ERROR_INTERNAL, e.what());
  } catch (...) {
    return remember(NBX_ERROR_INTERNAL, "an error of an unknown kind");
  }
}

void given(const void* pointer, const char* function, const char* argument) {
  if (!pointer) fail(Code::value, "{}: {} is NULL", function, argument);
}

std::vector<std::vector<int64_t>> dims_of(const std::vector<nbx::ValueInfo>& infos) {
  std::vector<std::vector<int64_t>> out;
  for (const auto& info : infos) {
    out.emplace_back();
    if (info.dims)
      for (const auto& dim : *info.dims) out.back().push_back(dim.extent);
  }
  return out;
}

void describe(const std::vector<nbx::ValueInfo>& infos, const std::vector<std::vector<int64_t>>& dims, size_t index,
              const char* function, nbx_value_info* out) {
  given(out, function, "out");
  require(index < infos.size(), Code::index, "{}: index {} is out of range, there are {}", function, index,
          infos.size());
  const nbx::ValueInfo& info = infos[index];
  out->name = info.name.c_str();
  out->dtype = info.dtype ? number_of(*info.dtype) : NBX_UNKNOWN_DTYPE;
  out->rank = info.dims ? static_cast<int32_t>(info.dims->size()) : -1;
  out->dims = dims[index].data();
}

nbx::Tensor borrowed(const nbx_tensor& t, const std::string& name) {
  const DType* dtype = dtype_of(t.dtype);
  require(dtype, Code::dtype, "input '{}': {} is no dtype number", name, t.dtype);
  require(t.rank >= 0 && t.rank <= nbx::kMaxRank, Code::shape, "input '{}': rank {} is outside 0 to {}", name, t.rank,
          nbx::kMaxRank);
  require(t.rank == 0 || t.dims, Code::value, "input '{}': dims is NULL", name);
  nbx::Shape shape(t.dims, t.dims + t.rank);
  // Products are checked one by one: a shape from outside may overflow.
  int64_t bytes = nbx::itemsize(*dtype);
  bool empty = false, fits = true;
  for (const int64_t extent : shape) {
    require(extent >= 0, Code::shape, "input '{}': an extent of {} in {}", name, extent, nbx::to_string(shape));
    empty = empty || extent == 0;
  }
  for (const int64_t extent : shape) fits = fits && (empty || !__builtin_mul_overflow(bytes, extent, &bytes));
  if (empty) bytes = 0;
  require(fits && static_cast<uint64_t>(bytes) == t.bytes, Code::shape, "input '{}': {} bytes are given, {}{} has {}",
          name, t.bytes, nbx::name(*dtype), nbx::to_string(shape), fits ? std::to_string(bytes) : "more than 2^63");
  require(t.data || bytes == 0, Code::value, "input '{}': data is NULL", name);
  const auto align = static_cast<uintptr_t>(std::min(nbx::itemsize(*dtype), 8));
  require(reinterpret_cast<uintptr_t>(t.data) % align == 0, Code::value,
          "input '{}': data is not aligned to {} bytes, as {} needs it", name, align, nbx::name(*dtype));
  if (*dtype == DType::bool_) {
    const auto* b = static_cast<const unsigned char*>(t.data);
    require(std::all_of(b, b + bytes, [](unsigned char v) { return v <= 1; }), Code::value,
            "input '{}': a bool must be 0 or 1", name);
  }
  if (bytes == 0) return nbx::Tensor::empty(shape, *dtype);
  return nbx::Tensor::borrow(const_cast<void*>(t.data), shape, *dtype, {}, false);
}

std::vector<nbx::Tensor> ordered(const nbx::Model& model, const nbx_tensor* inputs, size_t count) {
  const auto& infos = model.inputs();
  std::vector<nbx::Tensor> out(infos.size());
  for (size_t i = 0; i < count; ++i) {
    if (!inputs[i].name) fail(Code::value, "nbx_session_run: input {} has no name", i);
    const std::string name = inputs[i].name;
    const auto at = std::find_if(infos.begin(), infos.end(), [&](const auto& info) { return info.name == name; });
    if (at == infos.end()) {
      std::string known;
      for (const auto& info : infos) known += (known.empty() ? "" : ", ") + nbx::to_string(info);
      fail(Code::value, "model '{}' has no input '{}'; it has {}", model.name(), name, known);
    }
    nbx::Tensor& place = out[static_cast<size_t>(at - infos.begin())];
    require(!place.defined(), Code::value, "input '{}' is given twice", name);
    place = borrowed(inputs[i], name);
  }
  return out;
}

}  // namespace

const char* nbx_last_error(void) { return last_error.data(); }
const char* nbx_library_version(void) { return nbx::version(); }

nbx_status nbx_model_load(const char* path, nbx_model** out) {
  return guarded([&] {
    given(path, "nbx_model_load", "path");
    given(out, "nbx_model_load", "out");
    auto made = std::make_unique<nbx_model>();
    made->model = nbx::Model::load(path);
    made->input_dims = dims_of(made->model->inputs());
    made->output_dims = dims_of(made->model->outputs());
    *out = made.release();
  });
}

void nbx_model_free(nbx_model* model) { delete model; }
size_t nbx_model_input_count(const nbx_model* model) { return model ? model->input_dims.size() : 0; }
size_t nbx_model_output_count(const nbx_model* model) { return model ? model->output_dims.size() : 0; }

nbx_status nbx_model_input(const nbx_model* model, size_t index, nbx_value_info* out) {
  return guarded([&] {
    given(model, "nbx_model_input", "model");
    describe(model->model->inputs(), model->input_dims, index, "nbx_model_input", out);
  });
}

nbx_status nbx_model_output(const nbx_model* model, size_t index, nbx_value_info* out) {
  return guarded([&] {
    given(model, "nbx_model_output", "model");
    describe(model->model->outputs(), model->output_dims, index, "nbx_model_output", out);
  });
}

nbx_status nbx_session_new(const nbx_model* model, const nbx_session_options* options, nbx_session** out) {
  return guarded([&] {
    given(model, "nbx_session_new", "model");
    given(out, "nbx_session_new", "out");
    nbx::SessionOptions wanted;
    if (options) {
      constexpr size_t kFirst = offsetof(nbx_session_options, memory_limit) + sizeof(int64_t);
      require(options->size >= kFirst, Code::value, "nbx_session_new: options.size is {}, set it to sizeof of it ({})",
              options->size, sizeof(nbx_session_options));
      wanted.threads = options->threads;
      require(options->max_programs >= 0, Code::value, "nbx_session_new: max_programs is {}, it must not be negative",
              options->max_programs);
      wanted.memory_limit = options->memory_limit;
      if (options->max_programs > 0) wanted.max_programs = options->max_programs;
    }
    auto made = std::make_unique<nbx_session>();
    made->model = model->model;
    made->session = std::make_unique<nbx::Session>(model->model, wanted);
    *out = made.release();
  });
}

void nbx_session_free(nbx_session* session) { delete session; }

nbx_status nbx_session_run(nbx_session* session, const nbx_tensor* inputs, size_t count, nbx_result** result) {
  return guarded([&] {
    given(session, "nbx_session_run", "session");
    given(result, "nbx_session_run", "result");
    if (count > 0) given(inputs, "nbx_session_run", "inputs");
    require(!*result || (*result)->model == session->model, Code::value,
            "nbx_session_run: the result to reuse belongs to another model");
    const std::vector<nbx::Tensor> in = ordered(*session->model, inputs, count);
    std::unique_ptr<nbx_result> fresh;
    if (!*result) {
      fresh = std::make_unique<nbx_result>();
      fresh->model = session->model;
    }
    nbx_result& r = fresh ? *fresh : **result;
    session->session->run(in, r.outputs);
    r.dims.resize(r.outputs.size());
    for (size_t i = 0; i < r.outputs.size(); ++i) {
      // An output that is an input passed through must not point into the caller's memory.
      for (const nbx::Tensor& t : in)
        if (t.storage() == r.outputs[i].storage()) r.outputs[i] = r.outputs[i].clone();
      r.outputs[i] = r.outputs[i].contiguous();
      r.dims[i].assign(r.outputs[i].shape().begin(), r.outputs[i].shape().end());
    }
    if (fresh) *result = fresh.release();
  });
}

nbx_status nbx_session_cancel(nbx_session* session) {
  return guarded([&] {
    given(session, "nbx_session_cancel", "session");
    session->session->cancel();
  });
}

nbx_status nbx_session_get_stats(const nbx_session* session, nbx_session_stats* out) {
  return guarded([&] {
    given(session, "nbx_session_get_stats", "session");
    given(out, "nbx_session_get_stats", "out");
    const nbx::SessionStats s = session->session->stats();
    nbx_session_stats all{};
    all.arena_bytes = s.arena_bytes;
    all.lower_bound_bytes = s.lower_bound_bytes;
    all.packed_bytes = s.packed_bytes;
    all.programs = s.programs;
    all.runs = s.runs;
    require(out->size > sizeof(size_t), Code::value,
            "nbx_session_get_stats: out.size is {}, set it to sizeof of it ({})", out->size, sizeof(all));
    all.size = std::min(out->size, sizeof(all));
    std::memcpy(out, &all, all.size);
  });
}

size_t nbx_result_count(const nbx_result* result) { return result ? result->outputs.size() : 0; }

nbx_status nbx_result_output(const nbx_result* result, size_t index, nbx_tensor* out) {
  return guarded([&] {
    given(result, "nbx_result_output", "result");
    given(out, "nbx_result_output", "out");
    require(index < result->outputs.size(), Code::index, "nbx_result_output: index {} is out of range, there are {}",
            index, result->outputs.size());
    const nbx::Tensor& t = result->outputs[index];
    out->name = result->model->outputs()[index].name.c_str();
    out->dtype = number_of(t.dtype());
    out->rank = static_cast<int32_t>(t.rank());
    out->dims = result->dims[index].data();
    out->bytes = static_cast<size_t>(t.nbytes());
    out->data = t.nbytes() > 0 ? t.raw() : nullptr;
  });
}

void nbx_result_free(nbx_result* result) { delete result; }

size_t nbx_dtype_size(nbx_dtype dtype) {
  const DType* d = dtype_of(dtype);
  return d ? static_cast<size_t>(nbx::itemsize(*d)) : 0;
}

const char* nbx_dtype_name(nbx_dtype dtype) {
  const DType* d = dtype_of(dtype);
  return d ? nbx::name(*d) : "unknown";
}
