// SPDX-License-Identifier: Apache-2.0
// What this process may take. Systems promise more memory than they have and end a process that believes them, so large
// blocks are claimed here before they are taken: an absurd shape becomes an error instead.
#pragma once
#include <cstdint>

namespace nbx {

// The least of physical memory, the control group's limit and the process's own limits; read once.
int64_t memory_limit();
// Free now, as far as the system tells.
int64_t memory_available();

// Adds to the claims of the process. Error (budget), naming the bytes needed and available, when all claims together
// would exceed the limit or these bytes exceed what is free. `what` stands before the text: "storage".
void claim_memory(int64_t bytes, const char* what);
void release_memory(int64_t bytes);
// The same test without a claim, for a sum that will be taken in parts.
bool memory_allows(int64_t bytes);

}  // namespace nbx
