#pragma once

#include <string>

#include "engine/records/record.h"
#include "tests/fuzz/property.h"

namespace p2 {

/// A record that is read is judged, always in the same way, and what is wrong is explained. Returns
/// whether `text` is one.
inline bool check_record_text(const std::string& text) {
  const records::RecordText record{kFuzzedSource, text};
  const auto judge = [&] {
    return records::is_flight_dump(text)     ? records::check_flight({record}, {})
           : records::is_transfer_plan(text) ? records::check_transfers(record, {})
                                             : records::check_pipeline_csv(record, {});
  };
  constexpr std::size_t kMaxBytes = 1 << 16;  // pairs of transfers are compared
  if (text.size() > kMaxBytes) return true;
  if (!records::is_flight_dump(text) && !records::is_transfer_plan(text) &&
      !records::is_pipeline_csv(text)) {
    return false;
  }
  const auto decision = accepted(judge);
  if (!decision) return false;
  promise((decision->outcome == Outcome::Refuted) == decision->violation.has_value(),
          "a verdict does not go with its violation");
  if (decision->violation) {
    promise(!decision->violation->explanation.empty(), "a violation without an explanation");
    promise(judge().violation->explanation == decision->violation->explanation,
            "a record is judged in two ways");
  }
  return true;
}

}  // namespace p2
