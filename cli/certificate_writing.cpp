#include "cli/certificate_writing.h"

#include <stdexcept>

namespace p2 {

std::optional<std::string> complaint_of_writing(const std::string& folder,
                                                const std::function<void()>& write) {
  try {
    write();
    return std::nullopt;
  } catch (const std::length_error& error) {  // larger than p2-check reads
    return folder + ": " + error.what();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace p2
