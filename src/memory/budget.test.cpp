// SPDX-License-Identifier: Apache-2.0
#include "memory/budget.h"

#include <gtest/gtest.h>
#include <nbx/tensor.h>

#include "memory/arena.h"
#include "support/error_text.h"

namespace nbx {
namespace {

TEST(Budget, MoreThanTheMachineHasIsRefusedWithBothNumbers) {
  const int64_t too_much = memory_limit() + 1;
  const std::string text = error_text(Code::budget, [&] { claim_memory(too_much, "a block"); });
  EXPECT_NAMES(text, "a block: " + std::to_string(too_much) + " bytes are needed, ");
  EXPECT_NAMES(text, "are available");
  EXPECT_FALSE(memory_allows(too_much));
}

TEST(Budget, ManyBlocksTogetherCannotExceedTheMachine) {
  const int64_t third = memory_limit() / 3;
  int claims = 0;
  for (; claims < 4; ++claims) {
    try {
      claim_memory(third, "a third");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::budget);
      break;
    }
  }
  EXPECT_LE(claims, 3);
  for (int i = 0; i < claims; ++i) release_memory(third);
}

TEST(Budget, TensorsAndArenasGiveBackWhatTheyClaimed) {
  // Below the size at which the system is asked, so that other processes do not matter.
  const int64_t block = 1 << 20;
  for (int64_t i = 0; i < memory_limit() / block + 8; i += 64) {
    Arena arena;
    arena.ensure(32 * block);
    const Tensor t = Tensor::empty({32 * block}, DType::uint8);
  }
  EXPECT_NO_THROW(claim_memory(block, "a block"));
  release_memory(block);
}

TEST(Budget, AnArenaBeyondTheMachineIsRefused) {
  Arena arena;
  error_text(Code::budget, [&] { arena.ensure(memory_limit() + 1); });
}

}  // namespace
}  // namespace nbx
