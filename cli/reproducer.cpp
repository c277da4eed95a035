#include "cli/reproducer.h"

#include <ostream>
#include <string>

#include "cli/output.h"
#include "p2/error.h"

namespace p2 {

void write_reproducer(const std::function<void(std::ostream&)>& print, std::ostream& err) {
  err << "p2-verify: the engines disagree; all answers are in the output";
  try {
    Output file(std::string(kReproducer), err);
    print(file.stream());
    file.finish();
    err << " and in " << kReproducer << "\n";
  } catch (const InputError& error) {
    err << "\np2-verify: " << error.what() << "\n";
  }
}

}  // namespace p2
