#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {
namespace {

constexpr std::uint32_t kMaxChunk = 1U << 12U;  // units of the alignment

/// The least common multiple of the sizes of groups of thread blocks.
std::uint64_t common_multiple(const Json& plan) {
  std::uint64_t multiple = 1;
  for_each_op(plan, [&](const Json& op) {
    if (!op.contains("tbg_info")) return;
    const std::uint32_t size = number(op["tbg_info"], "tbg_size");
    if (size == 0) fail("a group of no thread blocks");
    multiple = std::lcm(multiple, std::uint64_t{size});
    if (multiple > 64) leave_open("groups of many thread blocks");
  });
  return multiple;
}

/// The sizes of chunks, in units of the alignment or rounds of pipelines, that stand for all
/// (docs/certificates.md).
Numbers sizes_of(const Json& plan) {
  const std::uint64_t multiple = common_multiple(plan);
  Numbers sizes(unit_of(plan) != 0 ? 3 : multiple == 1 ? 1 : multiple * (multiple + 1));
  std::iota(sizes.begin(), sizes.end(), 1);
  return sizes;
}

/// Whether the plan is for messages with chunks of so many units of the alignment, or rounds.
/// Precondition: it was unrolled.
bool is_for(const Json& plan, std::uint64_t chunk) {
  const Json& gpu = list(plan, "gpus")[0];
  const bool of_output =
      text(plan, "collective") == "allgather" || number(gpu, "input_chunks") == 0;
  const std::uint64_t alignment = number_or(plan, "buffer_alignment", 16);
  const std::uint64_t bytes =  // of chunks of one unit
      alignment *
      std::max<std::uint32_t>(1, number(gpu, of_output ? "output_chunks" : "input_chunks"));
  const std::uint64_t round = unit_of(plan);
  const std::uint64_t least = round == 0 ? chunk : (chunk - 1) * round / alignment + 1;
  const std::uint64_t most = round == 0 ? chunk : chunk * round / alignment;
  const std::uint64_t low = plan.value("min_message_size", std::uint64_t{0});
  const std::uint64_t high = plan.value("max_message_size", ~std::uint64_t{0});
  return std::max(least, low / bytes + (low % bytes != 0 ? 1 : 0)) <= std::min(most, high / bytes);
}

/// The first fault with chunks of so many units.
std::optional<Fault> find_fault(const Json& plan, std::uint32_t chunk, bool surely,
                                Budget& budget) try {
  Unroller unroller(plan, chunk, budget);
  Execution execution = unroller.take();
  auto fault = execution.find_fault(surely);
  if (!surely && !fault && !unroller.rounds_differ().empty())
    leave_open("more rounds of pipelines may differ: " + unroller.rounds_differ());
  const bool stands_for_all = sizes_of(plan).size() == 1 && execution.separates_packets(chunk);
  if (surely && fault && !stands_for_all && !is_for(plan, chunk))
    leave_open("the plan is not for messages of this size");
  if (!surely && !execution.separates_packets(chunk))
    leave_open("scratch is used for packets and for what is none, so that sizes differ");
  return fault;
} catch (const Fault& fault) {
  return fault;
}

std::string words_of(const Json& plan) {
  const bool known = plan.is_object() && plan.contains("gpus") && plan["gpus"].is_array() &&
                     plan.contains("collective") && plan.contains("inplace");
  if (!known) return "the one-sided plan";
  const auto quoted = [&](const char* key) {
    return shortened(plan.value(key, Json()).dump(-1, ' ', true));
  };
  return "the one-sided plan " + quoted("name") + " (" + quoted("collective") + ", " +
         counted(plan["gpus"].size(), "rank") +
         (plan["inplace"] == true ? ", in place)" : ", out of place)");
}

bool has_goal(const std::string& collective) {
  static const std::set<std::string> known = {"allreduce", "allgather", "reducescatter",
                                              "alltoall",  "broadcast", "sendrecv"};
  return known.contains(collective);
}

void expect_fault(const Files& files, const std::vector<std::string>& keys,
                  const std::optional<Fault>& fault) {
  const Json root = parse_json(files, "fault.json");
  expect_keys(root, keys);
  if (!fault) reject("the plan has no such fault");
  if (fault->text != as_text(root["fault"]))
    reject("the plan's first fault is another one: " + shortened(fault->text));
}

constexpr const char* kRight =
    " has the right result, no race and no deadlock in every interleaving of any number of "
    "launches, ";
constexpr const char* kAssumed =
    "if release and acquire order memory, launches of a rank follow each other, and nobody else "
    "uses its scratch";

bool is_text(const Json& plan) { return plan.is_object() && plan.contains("text"); }

}  // namespace
}  // namespace p2::kernel::plan

namespace p2::kernel {

using namespace plan;

std::string judge_onesided(const std::string& claim, const Files& files) {
  const Json plan = parse_json(files, "plan.json");
  const bool valid = claim == "onesided-valid";
  Budget budget;
  if (is_text(plan)) {
    expect_keys(plan, {"text"});
    const TextJudgement found = judge_text(as_text(plan["text"]), !valid, budget);
    const std::string words = "the one-sided plan in text (" + shortened(found.collective) + ", " +
                              counted(found.ranks, "rank") +
                              (found.in_place ? ", in place)" : ", out of place)");
    if (!valid) {
      expect_fault(files, {"fault"}, found.fault);
      return words + " is wrong: " + shortened(found.fault->text);
    }
    if (!has_goal(found.collective)) reject("no result is known for the collective");
    if (found.fault) reject(shortened(found.fault->text));
    return words + kRight + kAssumed;
  }
  if (!valid) {
    const Json root = parse_json(files, "fault.json");
    expect_keys(root, {"chunk", "fault"});
    const std::uint32_t chunk = as_number(root["chunk"], kMaxChunk);
    if (chunk == 0) malformed("chunks of no units");
    const auto fault = find_fault(plan, chunk, true, budget);
    expect_fault(files, {"chunk", "fault"}, fault);
    return words_of(plan) + " is wrong, with chunks of " + counted(chunk, "unit") + ": " +
           shortened(fault->text);
  }
  try {
    if (!has_goal(text(plan, "collective"))) reject("no result is known for the collective");
    for (const std::uint32_t chunk : sizes_of(plan)) {
      const auto fault = find_fault(plan, chunk, false, budget);
      if (fault) reject("with chunks of " + counted(chunk, "unit") + ": " + shortened(fault->text));
    }
  } catch (const Fault& fault) {
    reject(shortened(fault.text));
  }
  return words_of(plan) + kRight + "for all sizes of chunks, " + kAssumed;
}

std::string onesided_fault(const Files& files) try {
  const Json plan = parse_json(files, "plan.json");
  Budget budget;
  if (is_text(plan)) {
    const auto fault = judge_text(as_text(plan["text"]), true, budget).fault;
    return fault ? Json({{"fault", fault->text}}).dump() + "\n" : "";
  }
  Unroller(plan, 1, budget);  // or a fault whatever the size
  std::uint32_t least = 1;    // that messages have
  while (least < kMaxChunk && !is_for(plan, least)) ++least;
  for (std::uint32_t chunk : sizes_of(plan)) {
    if (least < kMaxChunk / 2) chunk += least - 1;
    const auto fault = find_fault(plan, chunk, true, budget);
    if (fault) return Json({{"chunk", chunk}, {"fault", fault->text}}).dump() + "\n";
  }
  return "";
} catch (const Fault& fault) {
  return Json({{"chunk", 1}, {"fault", fault.text}}).dump() + "\n";
}

}  // namespace p2::kernel
