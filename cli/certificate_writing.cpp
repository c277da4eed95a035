#include "cli/certificate_writing.h"

#include <new>
#include <stdexcept>

#include "engine/input/input_error.h"

namespace p2 {

std::optional<WritingTrouble> trouble_of_writing(const std::string& folder,
                                                 const std::function<void()>& write) {
  try {
    write();
    return std::nullopt;
  } catch (const InputError& error) {
    return WritingTrouble{error.what(), kBadInput};
  } catch (const std::length_error& error) {
    return WritingTrouble{folder + ": " + error.what(), kUndecided};
  } catch (const std::bad_alloc&) {
    return WritingTrouble{folder + ": out of memory", kUndecided};
  } catch (const std::exception& error) {
    return WritingTrouble{folder + ": tool failure: " + error.what(), kToolFailure};
  }
}

}  // namespace p2
