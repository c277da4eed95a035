#pragma once

#include <functional>
#include <iosfwd>

namespace p2 {

/// The file, in the current folder, that is left behind where engines disagree.
constexpr const char* kReproducer = "p2-verify-disagreement.json";

/// Writes everything that is needed to meet a disagreement again, and says so on `err`. A file that
/// cannot be written is said there too and changes nothing about the disagreement.
void write_reproducer(const std::function<void(std::ostream&)>& print, std::ostream& err);

}  // namespace p2
