// SPDX-License-Identifier: Apache-2.0
#include "io/load_inputs.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "io/audio.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/quote.h"
#include "io/safetensors.h"

namespace nbx {
namespace {

enum class Kind { npy, npz, safetensors, picture, sound };
constexpr const char* kKnown = ".npy, .npz, .safetensors, .png, .jpg, .wav, .flac, .aiff";

std::string suffix_of(const std::string& path) {
  const size_t slash = path.find_last_of('/'), dot = path.find_last_of('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string suffix = path.substr(dot);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

Kind kind_of(const std::string& path) {
  const std::string suffix = suffix_of(path);
  if (suffix == ".npy") return Kind::npy;
  if (suffix == ".npz") return Kind::npz;
  if (suffix == ".safetensors") return Kind::safetensors;
  if (suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg") return Kind::picture;
  if (suffix == ".wav" || suffix == ".flac" || suffix == ".aiff") return Kind::sound;
  fail(Code::value, "{}: an input file ends in one of {}", path, kKnown);
}

std::string describe(const InputSpec& input) {
  return fmt::format("{} ({})", quote(input.name), to_string(input.type));
}

std::string describe(const std::vector<InputSpec>& inputs) {
  std::string text;
  for (const InputSpec& input : inputs) text += (text.empty() ? "" : ", ") + describe(input);
  return text.empty() ? "none" : text;
}

// Error unless a value of this type fits what the model declares.
void check_type(const std::string& where, const InputSpec& input, DType dtype, const Shape& shape) {
  const bool dtype_fits = !input.type.dtype || dtype == *input.type.dtype;
  require(dtype_fits, Code::dtype, "{}: {} for input {}: the dtype must be {}", where, nbx::describe(dtype, shape),
          describe(input), name(input.type.dtype.value_or(DType::float32)));
  if (!input.type.dims) return;
  const std::vector<DimSpec>& dims = *input.type.dims;
  require(shape.size() == dims.size(), Code::shape, "{}: {} for input {}: the rank is {}, it must be {}", where,
          nbx::describe(dtype, shape), describe(input), shape.size(), dims.size());
  for (size_t d = 0; d < dims.size(); ++d)
    require(!dims[d].fixed() || dims[d].extent == shape[d], Code::shape,
            "{}: {} for input {}: dim {} is {}, it must be {}", where, nbx::describe(dtype, shape), describe(input), d,
            shape[d], dims[d].extent);
}

// The tensors of an archive. Safetensors are views of the file; compressed members are held to the inputs of their
// names before they are unpacked, and what no input wants is not.
NamedTensors read_archive(const std::string& path, Kind kind, std::span<const InputSpec> inputs, const Limits& limits) {
  if (kind != Kind::npz) return read_safetensors(path, limits).tensors;
  return read_npz(path, limits, [&](const std::string& name, DType dtype, const Shape& shape, size_t members) {
    for (const InputSpec& input : inputs) {
      // A single tensor may stand for a single input whatever its name.
      if (input.name != name && !(inputs.size() == 1 && members == 1)) continue;
      check_type(path, input, dtype, shape);
      return true;
    }
    return false;
  });
}

int64_t declared_rank(const InputSpec& input, int64_t unknown) {
  return input.type.dims ? static_cast<int64_t>(input.type.dims->size()) : unknown;
}
// -1: not fixed.
int64_t declared(const InputSpec& input, int64_t dim) {
  if (!input.type.dims) return -1;
  const auto rank = static_cast<int64_t>(input.type.dims->size());
  const int64_t at = dim < 0 ? dim + rank : dim;
  if (at < 0 || at >= rank) return -1;
  const DimSpec& spec = (*input.type.dims)[static_cast<size_t>(at)];
  return spec.fixed() ? spec.extent : -1;
}

// uint8 [H, W, 3] -> uint8 [H, W, 1]; the weights of ITU-R BT.601, as every picture tool uses for grey.
Tensor grey(const Tensor& rgb) {
  Tensor out = Tensor::empty({rgb.dim(0), rgb.dim(1), 1}, DType::uint8);
  const auto* from = rgb.data<uint8_t>();
  auto* to = out.mutable_data<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i, from += 3)
    to[i] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
  return out;
}

Tensor picture_input(const std::string& path, const InputSpec& input, const Limits& limits) {
  const int64_t rank = declared_rank(input, 4);
  const DType dtype = input.type.dtype.value_or(DType::float32);
  require(rank >= 2 && rank <= 4, Code::shape,
          "{}: a picture cannot be input {}: it has no form with channels, height and width", path, describe(input));
  require(dtype == DType::uint8 || is_floating(dtype), Code::dtype,
          "{}: a picture can be a float or uint8 input, not {}; pass a .npy", path, describe(input));
  const auto is_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
  const int64_t front = declared(input, rank - 3), back = declared(input, -1);
  const bool last = rank > 2 && !is_channels(front) && is_channels(back);
  const int64_t channels = rank == 2 ? 1 : last ? back : front;
  require(rank == 2 || channels < 0 || is_channels(channels), Code::shape,
          "{}: input {} has {} channels; a picture has 1 or 3", path, describe(input), channels);

  Tensor picture = read_image(path, limits);
  if (channels == 1) picture = grey(picture);
  Tensor shaped = rank == 2 ? picture.select(2, 0) : last ? picture : picture.permute({2, 0, 1});
  if (rank == 4) shaped = shaped.unsqueeze(0);
  if (dtype == DType::uint8) return shaped.contiguous();
  Tensor out = shaped.contiguous().to(DType::float32);
  auto* values = out.mutable_data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) values[i] /= 255.0f;
  return out.to(dtype);
}

Tensor sound_input(const std::string& path, const InputSpec& input, std::vector<std::string>& notes,
                   const Limits& limits) {
  const int64_t rank = declared_rank(input, 2);
  const DType dtype = input.type.dtype.value_or(DType::float32);
  require(rank >= 1 && rank <= 3, Code::shape,
          "{}: a sound cannot be input {}: it has no form [n], [1, n] or [1, 1, n]", path, describe(input));
  require(is_floating(dtype), Code::dtype, "{}: a sound can be a float input, not {}; pass a .npy", path,
          describe(input));
  const Sound sound = read_sound(path, limits);
  const int64_t channels = sound.samples.dim(1);
  notes.push_back(fmt::format("{}: {} Hz{}", path, sound.rate,
                              channels > 1 ? fmt::format(", {} channels averaged", channels) : ""));
  const Tensor one = mono(sound);
  const int64_t n = one.numel();
  if (rank == 1) return one.to(dtype);
  if (rank == 2) return one.view({1, n}).to(dtype);
  return (declared(input, -1) == 1 ? one.view({1, n, 1}) : one.view({1, 1, n})).to(dtype);
}

Tensor archive_input(const std::string& path, Kind kind, const InputSpec& input, const Limits& limits) {
  const NamedTensors tensors = read_archive(path, kind, {&input, 1}, limits);
  if (const Tensor* tensor = tensors.find(input.name)) return *tensor;
  require(tensors.size() == 1, Code::value, "{}: no tensor is named {}; the file has {}", path, quote(input.name),
          tensors.names());
  return tensors[0].second;
}

struct Argument {
  const InputSpec* input = nullptr;  // named
  std::string path;
};

// Names of inputs may hold '=' themselves: the longest that fits counts.
Argument parse_argument(const std::string& text, const std::vector<InputSpec>& inputs) {
  Argument out;
  for (const InputSpec& input : inputs)
    if (text.size() > input.name.size() && text[input.name.size()] == '=' &&
        text.compare(0, input.name.size(), input.name) == 0 &&
        (out.input == nullptr || input.name.size() > out.input->name.size()))
      out.input = &input;
  out.path = out.input == nullptr ? text : text.substr(out.input->name.size() + 1);
  require(!out.path.empty(), Code::value, "-i '{}': there is no file name in it; write NAME=FILE or FILE", text);
  if (out.input != nullptr) return out;
  const size_t equals = text.find('='), slash = text.find('/');
  const bool looks_named = equals != std::string::npos && (slash == std::string::npos || equals < slash);
  require(!looks_named, Code::value, "{}: the model has no input {}; its inputs are {}", text,
          quote(text.substr(0, equals)), describe(inputs));
  return out;
}

class Loader {
 public:
  Loader(const std::vector<InputSpec>& inputs, const Limits& limits)
      : inputs_(inputs), limits_(limits), values_(inputs.size()), from_(inputs.size()) {}

  void load(const std::vector<std::string>& arguments) {
    std::vector<std::string> unnamed;
    for (const std::string& text : arguments) {
      const Argument argument = parse_argument(text, inputs_);
      if (argument.input == nullptr) {
        unnamed.push_back(argument.path);
        continue;
      }
      const auto at = static_cast<size_t>(argument.input - inputs_.data());
      set(at, argument.path, load_input(argument.path, *argument.input, notes, limits_));
      named_.push_back(at);
    }
    std::vector<std::string> single;
    for (const std::string& path : unnamed) {
      const Kind kind = kind_of(path);
      if (kind == Kind::npz || kind == Kind::safetensors) {
        match(path, read_archive(path, kind, inputs_, limits_));
      } else {
        single.push_back(path);
      }
    }
    for (const std::string& path : single) {
      const std::vector<size_t> open = missing();
      require(open.size() == 1, Code::value,
              "{}: {} inputs are open, say which one this is: -i NAME={}; the inputs are {}", path, open.size(), path,
              describe(inputs_));
      set(open[0], path, load_input(path, inputs_[open[0]], notes, limits_));
    }
    refuse_missing();
  }

  NamedTensors take() {
    NamedTensors out;
    for (size_t i = 0; i < inputs_.size(); ++i) out.add(inputs_[i].name, std::move(values_[i]));
    return out;
  }

  std::vector<std::string> notes;

 private:
  void set(size_t at, const std::string& path, Tensor value) {
    require(!values_[at].defined(), Code::value, "input {} is given twice: by {} and by {}", quote(inputs_[at].name),
            from_[at], path);
    values_[at] = std::move(value);
    from_[at] = path;
  }

  void match(const std::string& path, const NamedTensors& tensors) {
    std::string unused;
    for (const auto& [name, tensor] : tensors) {
      const auto found =
          std::find_if(inputs_.begin(), inputs_.end(), [&n = name](const InputSpec& i) { return i.name == n; });
      if (found == inputs_.end()) {
        unused += (unused.empty() ? "" : ", ") + quote(name);
        continue;
      }
      const auto at = static_cast<size_t>(found - inputs_.begin());
      if (std::find(named_.begin(), named_.end(), at) != named_.end()) {
        notes.push_back(fmt::format("{}: its {} is not used, {} is given by name", path, quote(name), from_[at]));
        continue;
      }
      check_input(path, *found, tensor);
      set(at, path, tensor);
    }
    if (!unused.empty()) notes.push_back(fmt::format("{}: not inputs of the model, ignored: {}", path, unused));
    archives_ += fmt::format("{}{} has {}", archives_.empty() ? "" : "; ", path, tensors.names());
  }

  std::vector<size_t> missing() const {
    std::vector<size_t> open;
    for (size_t i = 0; i < values_.size(); ++i)
      if (!values_[i].defined()) open.push_back(i);
    return open;
  }

  void refuse_missing() const {
    std::string text;
    for (size_t i : missing()) text += (text.empty() ? "" : ", ") + describe(inputs_[i]);
    require(text.empty(), Code::value, "missing input {}; {}pass it with -i NAME=FILE", text,
            archives_.empty() ? "" : archives_ + "; ");
  }

  const std::vector<InputSpec>& inputs_;
  const Limits& limits_;
  std::vector<Tensor> values_;
  std::vector<std::string> from_;
  std::vector<size_t> named_;
  std::string archives_;
};

}  // namespace

std::vector<InputSpec> input_specs(const Graph& graph) {
  std::vector<InputSpec> out;
  for (int id : graph.inputs) {
    const GraphTensor& tensor = graph.tensors[static_cast<size_t>(id)];
    out.push_back({tensor.name, tensor.type});
  }
  return out;
}

void check_input(const std::string& where, const InputSpec& input, const Tensor& tensor) {
  check_type(where, input, tensor.dtype(), tensor.shape());
}

Tensor load_input(const std::string& path, const InputSpec& input, std::vector<std::string>& notes,
                  const Limits& limits) {
  const Kind kind = kind_of(path);
  Tensor out;
  switch (kind) {
    case Kind::npy:
      out = read_npy(path, limits);
      break;
    case Kind::npz:
    case Kind::safetensors:
      out = archive_input(path, kind, input, limits);
      break;
    case Kind::picture:
      out = picture_input(path, input, limits);
      break;
    case Kind::sound:
      out = sound_input(path, input, notes, limits);
      break;
  }
  check_input(path, input, out);
  return out;
}

LoadedInputs load_inputs(const std::vector<std::string>& arguments, const std::vector<InputSpec>& inputs,
                         const Limits& limits) {
  Loader loader(inputs, limits);
  loader.load(arguments);
  LoadedInputs out;
  out.tensors = loader.take();
  out.notes = std::move(loader.notes);
  return out;
}

void save_outputs(const std::string& path, const NamedTensors& outputs) {
  const std::string suffix = suffix_of(path);
  if (suffix == ".npz") return write_npz(path, outputs);
  if (suffix == ".safetensors") return write_safetensors(path, outputs);
  require(suffix == ".npy", Code::value, "{}: outputs are written to .npz, .safetensors or .npy", path);
  require(outputs.size() == 1, Code::value, "{}: a .npy holds one tensor, there are {} outputs: {}; write .npz", path,
          outputs.size(), outputs.names());
  write_npy(path, outputs[0].second);
}

}  // namespace nbx
