#include "engine/execution/host_buffer.h"

#include <cstring>

namespace p2::execution {

void HostBuffer::rearrange(const Rows& from) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::byte* to = spare() + i * row_bytes_;
    if (from[i] == kZeros) {
      std::memset(to, 0, row_bytes_);
    } else {
      std::memcpy(to, rows() + from[i] * row_bytes_, row_bytes_);
    }
  }
  swap();
}

}  // namespace p2::execution
