// SPDX-License-Identifier: Apache-2.0
#include "io/load_inputs.h"

#include <gtest/gtest.h>

#include "io/audio.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

InputSpec spec(std::string name, DType dtype, const std::vector<int64_t>& dims) {
  InputSpec out;
  out.name = std::move(name);
  out.type.dtype = dtype;
  out.type.dims.emplace();
  for (int64_t extent : dims) {
    DimSpec dim;
    dim.extent = extent;
    out.type.dims->push_back(dim);
  }
  return out;
}

const std::vector<InputSpec> kTwo = {spec("x", DType::float32, {-1, 2}), spec("sr", DType::int64, {})};
const Tensor kX = Tensor::of<float>({1, 2}, {1, 2});
const Tensor kRate = Tensor::scalar<int64_t>(16000);

TEST(LoadInputs, TensorsOfAnArchiveAreMatchedByNameAndExtraOnesAreNoted) {
  const TempFolder folder;
  for (const char* file : {"in.npz", "in.safetensors"}) {
    save_outputs(folder / file, {{"more", kX}, {"sr", kRate}, {"x", kX}});
    const LoadedInputs got = load_inputs({folder / file}, kTwo);
    EXPECT_EQ(got.tensors[0].first, "x");
    EXPECT_TRUE(same_bits(got.tensors.at("x"), kX));
    EXPECT_TRUE(same_bits(got.tensors.at("sr"), kRate));
    ASSERT_EQ(got.notes.size(), 1u);
    EXPECT_NAMES(got.notes[0], "'more'");
  }
}

TEST(LoadInputs, AMissingInputIsAnErrorWithItsTypeAndWhatTheFileHas) {
  const TempFolder folder;
  save_outputs(folder / "in.npz", {{"other", kX}, {"sr", kRate}});
  const std::string text = error_text(Code::value, [&] { load_inputs({folder / "in.npz"}, kTwo); });
  EXPECT_NAMES(text, "'x'");
  EXPECT_NAMES(text, "float32[");
  EXPECT_NAMES(text, "'other', 'sr'");
}

TEST(LoadInputs, ANamedArgumentWinsOverAMatchedTensor) {
  const TempFolder folder;
  save_outputs(folder / "in.npz", {{"x", kX}, {"sr", kRate}});
  write_npy(folder / "x.npy", Tensor::of<float>({1, 2}, {7, 8}));
  const LoadedInputs got = load_inputs({folder / "in.npz", "x=" + folder / "x.npy"}, kTwo);
  EXPECT_EQ(got.tensors.at("x").to_doubles()[0], 7);
  ASSERT_EQ(got.notes.size(), 1u);
}

TEST(LoadInputs, AnInputGivenTwiceIsAnErrorNamingBothFiles) {
  const TempFolder folder;
  write_npy(folder / "a.npy", kX);
  write_npy(folder / "b.npy", kX);
  const std::string text = error_text(Code::value, [&] {
    load_inputs({"x=" + folder / "a.npy", "x=" + folder / "b.npy"}, kTwo);
  });
  EXPECT_NAMES(text, "a.npy");
  EXPECT_NAMES(text, "b.npy");
}

TEST(LoadInputs, AnUnknownInputNameIsAnErrorThatListsTheInputs) {
  EXPECT_NAMES(error_text(Code::value, [&] { load_inputs({"y=a.npy"}, kTwo); }), "no input 'y'; its inputs are 'x'");
}

TEST(LoadInputs, NamesWithAnEqualsSignAreUnderstood) {
  const TempFolder folder;
  write_npy(folder / "a=b.npy", kX);
  const std::vector<InputSpec> inputs = {spec("a", DType::int8, {}), spec("a=b", DType::float32, {1, 2})};
  EXPECT_NAMES(error_text(Code::value, [&] { load_inputs({"a=b=" + folder / "a=b.npy"}, inputs); }),
               "missing input 'a'");
  EXPECT_TRUE(same_bits(load_inputs({folder / "a=b.npy"}, {inputs[1]}).tensors[0].second, kX));
}

TEST(LoadInputs, AFileWithoutANameGoesToTheOnlyOpenInput) {
  const TempFolder folder;
  write_npy(folder / "x.npy", kX);
  write_npy(folder / "sr.npy", kRate);
  EXPECT_TRUE(same_bits(load_inputs({folder / "x.npy", "sr=" + folder / "sr.npy"}, kTwo).tensors.at("x"), kX));
  EXPECT_NAMES(error_text(Code::value, [&] { load_inputs({folder / "x.npy"}, kTwo); }), "say which one");
}

TEST(LoadInputs, AnArchiveForOneInputGivesItsNamesakeOrItsOnlyTensor) {
  const TempFolder folder;
  const InputSpec x = kTwo[0];
  save_outputs(folder / "one.npz", {{"any", kX}});
  save_outputs(folder / "two.npz", {{"any", kX}, {"other", kX}});
  EXPECT_TRUE(same_bits(load_inputs({"x=" + folder / "one.npz"}, {x}).tensors[0].second, kX));
  EXPECT_NAMES(error_text(Code::value, [&] { load_inputs({"x=" + folder / "two.npz"}, {x}); }), "'any', 'other'");
}

TEST(LoadInputs, AWrongDtypeRankOrExtentIsAnErrorNamingFileInputAndBothValues) {
  const TempFolder folder;
  const auto text = [&](Code code, const Tensor& tensor) {
    write_npy(folder / "x.npy", tensor);
    const std::string out = error_text(code, [&] { load_inputs({"x=" + folder / "x.npy"}, {kTwo[0]}); });
    EXPECT_NAMES(out, "x.npy");
    EXPECT_NAMES(out, "'x'");
    return out;
  };
  EXPECT_NAMES(text(Code::dtype, Tensor::zeros({1, 2}, DType::float64)), "the dtype must be float32");
  EXPECT_NAMES(text(Code::shape, Tensor::zeros({2}, DType::float32)), "the rank is 1, it must be 2");
  EXPECT_NAMES(text(Code::shape, Tensor::zeros({2, 3}, DType::float32)), "dim 1 is 3, it must be 2");
}

TEST(LoadInputs, AnUnknownSuffixIsAnErrorThatListsTheKnownOnes) {
  EXPECT_NAMES(error_text(Code::value, [&] { load_inputs({"x=a.txt"}, {kTwo[0]}); }), ".safetensors");
}

TEST(SaveOutputs, TheSuffixChoosesTheFormat) {
  const TempFolder folder;
  save_outputs(folder / "a.npy", {{"x", kX}});
  EXPECT_TRUE(same_bits(read_npy(folder / "a.npy"), kX));
  EXPECT_NAMES(error_text(Code::value, [&] { save_outputs(folder / "a.npy", {{"x", kX}, {"y", kX}}); }), "write .npz");
  EXPECT_NAMES(error_text(Code::value, [&] { save_outputs(folder / "a.txt", {{"x", kX}}); }), ".npz");
}

#if NBX_HAVE_PNG
Tensor picture_as(const InputSpec& input) {
  const TempFolder folder;
  // 1 x 2 pixels: red 255, then (0, 51, 102).
  write_png(folder / "p.png", Tensor::of<uint8_t>({1, 2, 3}, {255, 0, 0, 0, 51, 102}));
  return load_inputs({"p=" + folder / "p.png"}, {input}).tensors[0].second;
}
const std::vector<double> kFirst = {1, 0, 0, 51 / 255.f, 0, 102 / 255.f}, kLast = {1, 0, 0, 0, 51 / 255.f, 102 / 255.f};

TEST(LoadInputs, APictureBecomesWhatTheDeclaredShapeAsksFor) {
  const auto f = DType::float32;
  EXPECT_EQ(picture_as(spec("p", f, {-1, 3, -1, -1})).shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(picture_as(spec("p", f, {-1, 3, -1, -1})).to_doubles(), kFirst);
  EXPECT_EQ(picture_as(spec("p", f, {1, -1, -1, -1})).to_doubles(), kFirst);  // nothing declared: channels first
  EXPECT_EQ(picture_as(spec("p", f, {1, -1, -1, 3})).shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(picture_as(spec("p", f, {1, -1, -1, 3})).to_doubles(), kLast);
  EXPECT_EQ(picture_as(spec("p", f, {3, 1, 2})).to_doubles(), kFirst);
  EXPECT_EQ(picture_as(spec("p", DType::uint8, {-1, -1, 3})).to_ints(), (std::vector<int64_t>{255, 0, 0, 0, 51, 102}));
  EXPECT_EQ(picture_as(spec("p", DType::uint8, {1, 1, -1, -1})).to_ints(), (std::vector<int64_t>{76, 42}));
  EXPECT_EQ(picture_as(spec("p", DType::uint8, {-1, -1})).shape(), (Shape{1, 2}));
  EXPECT_EQ(picture_as(spec("p", DType::float16, {1, 3, 1, 2})).dtype(), DType::float16);
  InputSpec free = spec("p", f, {});
  free.type.dims.reset();
  EXPECT_EQ(picture_as(free).shape(), (Shape{1, 3, 1, 2}));
}

TEST(LoadInputs, APictureOfAnotherSizeOrForAnotherKindOfInputIsRefused) {
  EXPECT_NAMES(error_text(Code::shape,
                          [] {
                            picture_as(spec("p", DType::float32, {1, 3, 224, 224}));
                          }),
               "dim 2 is 1, it must be 224");
  EXPECT_NAMES(error_text(Code::shape, [] { picture_as(spec("p", DType::float32, {1, 16, -1, -1})); }), "16 channels");
  EXPECT_NAMES(error_text(Code::shape, [] { picture_as(spec("p", DType::float32, {5})); }), "a picture cannot be");
  EXPECT_NAMES(error_text(Code::dtype, [] { picture_as(spec("p", DType::int64, {1, 3, -1, -1})); }), "int64");
}
#endif

#if NBX_HAVE_SNDFILE
TEST(LoadInputs, ASoundBecomesMonoOfTheDeclaredRankAndItsRateIsNoted) {
  const TempFolder folder;
  write_wav(folder / "s.wav", Tensor::of<float>({2, 2}, {0.5, 0, -0.5, -0.5}), 8000, WavFormat::float32);
  const auto shape = [&](const std::vector<int64_t>& dims) {
    const LoadedInputs got = load_inputs({folder / "s.wav"}, {spec("s", DType::float32, dims)});
    EXPECT_EQ(got.tensors[0].second.to_doubles(), (std::vector<double>{0.25, -0.5}));
    EXPECT_NAMES(got.notes.at(0), "8000 Hz, 2 channels averaged");
    return got.tensors[0].second.shape();
  };
  EXPECT_EQ(shape({-1}), (Shape{2}));
  EXPECT_EQ(shape({-1, -1}), (Shape{1, 2}));
  EXPECT_EQ(shape({1, 1, -1}), (Shape{1, 1, 2}));
  EXPECT_EQ(shape({-1, 2, 1}), (Shape{1, 2, 1}));
  EXPECT_NAMES(error_text(Code::shape,
                          [&] {
                            load_inputs({folder / "s.wav"}, {spec("s", DType::float32, {1, 576})});
                          }),
               "dim 1 is 2, it must be 576");
}
#endif

}  // namespace
}  // namespace nbx
