#include "engine/onesided/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/onesided/violation.h"

namespace p2::onesided {
namespace {

constexpr std::array<std::string_view, 30> kOpNames = {
    "nop",    "barrier", "signal", "rlxsignal", "wait",  "rlxwait", "sem_release", "sem_acquire",
    "put",    "pws",     "pwsf",   "flush",     "get",   "copy",    "re",          "res",
    "rre",    "rres",    "cpkt",   "ppkt",      "upkt",  "rppkt",   "repkt",       "respkt",
    "recpkt", "recspkt", "gstore", "gstorepkt", "glres", "pipeline"};

constexpr std::array<std::string_view, 27> kRuleNames = {"malformed",
                                                         "executor-limit",
                                                         "no-channel",
                                                         "no-buffer",
                                                         "no-peer",
                                                         "wrong-peer",
                                                         "size-mismatch",
                                                         "out-of-bounds",
                                                         "barrier-mismatch",
                                                         "packet-overwritten",
                                                         "packet-never-written",
                                                         "unmatched-wait",
                                                         "deadlock",
                                                         "signal-surplus",
                                                         "data-race",
                                                         "missing-sync",
                                                         "relaxed-order",
                                                         "missing-flush",
                                                         "early-access",
                                                         "late-access",
                                                         "scratch-reuse",
                                                         "missing-data",
                                                         "stale-data",
                                                         "double-count",
                                                         "wrong-chunk",
                                                         "lost-contribution",
                                                         "wrong-result"};

}  // namespace

char letter(Buffer buffer) {
  constexpr std::array<char, 3> kLetters = {'i', 'o', 's'};
  return kLetters[static_cast<std::size_t>(buffer)];
}

std::string_view to_string(ChannelType type) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "memory", "port", "switch"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(OpType type) { return kOpNames[static_cast<std::size_t>(type)]; }

std::optional<OpType> op_type(std::string_view name) {
  const auto* const found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) return std::nullopt;
  return static_cast<OpType>(found - kOpNames.begin());
}

std::string_view to_string(Rule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

bool is_race(Rule rule) { return Rule::SignalSurplus <= rule && rule <= Rule::ScratchReuse; }

}  // namespace p2::onesided
