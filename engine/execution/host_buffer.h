#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/execution/plan.h"

namespace p2::execution {

/// A compact buffer in the memory of the host, and a second one that a call may receive into.
class HostBuffer {
 public:
  HostBuffer(std::size_t rows, std::size_t row_bytes)
      : row_bytes_(row_bytes),
        rows_(allocate(rows * row_bytes)),
        spare_(allocate(rows * row_bytes)) {}

  std::byte* rows() { return rows_.get(); }
  std::byte* spare() { return spare_.get(); }
  std::size_t row_bytes() const { return row_bytes_; }

  /// What was received becomes the buffer.
  void swap() { std::swap(rows_, spare_); }
  /// Row i of the new buffer is row from[i] of the old one, or zeros.
  void rearrange(const Rows& from);

 private:
  /// Untouched pages: a rank that only ever holds a part takes up memory for that part.
  static std::unique_ptr<std::byte[]> allocate(std::size_t bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(bytes);
  }

  std::size_t row_bytes_;
  std::unique_ptr<std::byte[]> rows_;
  std::unique_ptr<std::byte[]> spare_;
};

}  // namespace p2::execution
