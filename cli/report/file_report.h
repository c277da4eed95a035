#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace p2 {

/// How one property of one file came out.
struct Property {
  enum class Outcome : std::uint8_t {
    Established,
    Refuted,
    Undecided,    ///< within the limits, or because nothing says what the result should be
    NotExamined,  ///< the file is refused for another reason first
    BadInput,     ///< the file cannot be read
    Disagreement  ///< the engines differ
  };

  std::string name;  ///< `premises`, `goal`, `races`, …
  Outcome outcome = Outcome::Established;
  std::string rule = {};     ///< of a refuted one: which rule it breaks, a stable name
  std::string message = {};  ///< why it is not established
  std::size_t line = 0;      ///< of the file, from 1; 0 where there is none
  std::size_t column = 0;
  bool known = false;  ///< a failure that the baseline has
};

/// What reports say of one file.
struct FileReport {
  std::string file;    ///< as it was given
  std::string format;  ///< `program`, `msccl`, …: the family of its rules
  std::vector<Property> properties;
  double seconds = 0;
};

/// Whether a property lets the run fail: refuted, undecided, not readable, or in dispute.
bool fails(const Property& property);

/// The path of a file as reports name it: from the current folder, with `/`, without `.` and `..`
/// where it lies inside it.
std::string reported_path(const std::string& file);

/// As the text of an XML element or attribute: markup and quotes escaped, what XML has no character
/// for replaced.
std::string xml_text(const std::string& text);

}  // namespace p2
