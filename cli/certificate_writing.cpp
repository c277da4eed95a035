#include "cli/certificate_writing.h"

#include <filesystem>
#include <new>
#include <ostream>
#include <stdexcept>

#include "p2/error.h"

namespace p2 {

std::optional<WritingTrouble> trouble_of_writing(const std::string& folder,
                                                 const std::function<void()>& write) {
  try {
    write();
    return std::nullopt;
  } catch (const InputError& error) {
    return WritingTrouble{error.what(), kBadInput};
  } catch (const std::filesystem::filesystem_error& error) {
    return WritingTrouble{folder + ": " + error.code().message() + ", expected a folder",
                          kBadInput};
  } catch (const std::length_error& error) {
    return WritingTrouble{folder + ": " + error.what(), kUndecided};
  } catch (const std::bad_alloc&) {
    return WritingTrouble{folder + ": out of memory", kUndecided};
  } catch (const std::exception& error) {
    return WritingTrouble{folder + ": tool failure: " + error.what(), kToolFailure};
  }
}

ExitCode code_of_writing(const std::string& folder, const std::function<void()>& write,
                         std::ostream& err) {
  const auto trouble = trouble_of_writing(folder, write);
  if (!trouble) return kEstablished;
  err << "p2-verify: " << trouble->words << "\n";
  return trouble->code;
}

}  // namespace p2
