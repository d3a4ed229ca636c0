// SPDX-License-Identifier: Apache-2.0
#include <nbx/tensor.h>

#include <cstdlib>
#include <limits>

#include "base/check.h"
#include "base/checked.h"
#include "memory/budget.h"

namespace nbx {

std::string to_string(Device device) {
  switch (device.kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::null:
      return "null";
    case DeviceKind::cuda:
      return "cuda:" + std::to_string(device.index);
    case DeviceKind::opencl:
      return "opencl:" + std::to_string(device.index);
  }
  return "unknown";
}

std::shared_ptr<Storage> Storage::allocate(int64_t bytes, Device device) {
  require(bytes >= 0 && bytes <= std::numeric_limits<int64_t>::max() - kAlignment, Code::value,
          "storage: {} bytes cannot be allocated", bytes);
  std::shared_ptr<Storage> storage(new Storage);
  storage->bytes_ = bytes;
  storage->device_ = device;
  if (device.kind == DeviceKind::null) return storage;  // it plans and records; there is no memory behind it
  require(device.kind == DeviceKind::cpu, Code::unsupported, "storage: memory of device {} is not allocated here",
          to_string(device));
  // At least one line, so that an empty tensor has an address too: memcpy of nothing wants one.
  const auto size = static_cast<size_t>(align_up(bytes == 0 ? 1 : bytes));
  claim_memory(static_cast<int64_t>(size), "storage");
  storage->data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (storage->data_ == nullptr) {
    release_memory(static_cast<int64_t>(size));
    fail(Code::budget, "storage: the system has no {} bytes left", bytes);
  }
  storage->owned_ = true;
  return storage;
}

std::shared_ptr<Storage> Storage::borrow(void* data, int64_t bytes, std::shared_ptr<const void> owner, bool writable) {
  require(bytes >= 0 && (data != nullptr || bytes == 0), Code::value, "storage: {} bytes at address {}", bytes, data);
  std::shared_ptr<Storage> storage(new Storage);
  storage->data_ = static_cast<std::byte*>(data);
  storage->bytes_ = bytes;
  storage->writable_ = writable;
  storage->owner_ = std::move(owner);
  return storage;
}

Storage::~Storage() {
  if (!owned_) return;
  std::free(data_);
  release_memory(align_up(bytes_ == 0 ? 1 : bytes_));
}

}  // namespace nbx
