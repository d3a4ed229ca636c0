// SPDX-License-Identifier: Apache-2.0
// Checks the type promotion of nbx against a promotion.json: promote_types, can_cast, result_type, ops_binary,
// ops_unary, ops_reduction, creation. A `null` in the file says that the reference raises.
#pragma once
#include <string>
#include <vector>

struct PromotionReport {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  std::vector<std::string> lines;  // one a failing or skipped case
};

// Error (file) when the file cannot be read or does not have the form. whole: every part must be there and hold
// something.
PromotionReport check_promotion(const std::string& file, bool whole = false);

// Prints the report; the exit code.
int run_promotion(const std::string& file, bool whole = false);
