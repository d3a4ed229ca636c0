// SPDX-License-Identifier: Apache-2.0
// The text of the error that a call throws, after checking its code; a test failure when it throws nothing or another
// code.
#pragma once
#include <gtest/gtest.h>
#include <nbx/error.h>

#include <string>

namespace nbx {

template <class F>
std::string error_text(Code code, F&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_STREQ(name(error.code()), name(code)) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "an error is one line: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error, expected one with code " << name(code);
  return "";
}

}  // namespace nbx

#define EXPECT_NAMES(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "'" << (part) << "' is not named in: " << (text)
