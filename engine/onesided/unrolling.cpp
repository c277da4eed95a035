#include "engine/onesided/unrolling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::onesided {

Cell add_space(Unrolling& unrolling, std::uint32_t rank, std::string name, std::uint64_t cells,
               bool user, std::uint32_t width) {
  const Cell first = unrolling.cells;
  if (cells > kMaxCells - first) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^24 cells");
  }
  unrolling.cells += static_cast<std::uint32_t>(cells);
  unrolling.spaces.push_back(
      {rank, std::move(name), first, static_cast<std::uint32_t>(cells), user, width});
  return first;
}

const UserCells& add_user_cells(Unrolling& unrolling, std::uint64_t input, std::uint64_t output) {
  const auto rank = static_cast<std::uint32_t>(unrolling.users.size());
  const auto add = [&](const char* name, std::uint64_t cells) {
    return add_space(unrolling, rank, name, cells, true, 1);
  };
  UserCells user{0, static_cast<std::uint32_t>(input), 0, static_cast<std::uint32_t>(output)};
  if (!unrolling.in_place) {
    user.input = add("i", input);
    user.output = add("o", output);
  } else if (unrolling.collective == "allgather") {
    user.output = add("o", output);
    user.input = user.output + rank * user.input_cells;
  } else if (unrolling.collective == "reducescatter") {
    user.input = add("i", input);
    user.output = user.input + rank * user.output_cells;
  } else {
    user.input = user.output = add(input >= output ? "i" : "o", std::max(input, output));
    user.input_cells = user.output_cells = std::max(user.input_cells, user.output_cells);
  }
  return unrolling.users.emplace_back(user);
}

const Space& Unrolling::space_of(Cell cell) const {
  const auto after = std::upper_bound(spaces.begin(), spaces.end(), cell,
                                      [](Cell at, const Space& space) { return at < space.first; });
  return *std::prev(after);
}

UserGoal::Parts Unrolling::wanted(std::uint32_t rank, std::uint32_t k) const {
  const std::vector<UserGoal::Parts>& parts = goal->outputs[rank];
  if (parts.empty()) return {};
  const auto size = users[rank].output_cells / static_cast<std::uint32_t>(parts.size());
  UserGoal::Parts found = parts[k / size];
  for (auto& [from, part] : found) part = part * size + k % size;
  return found;
}

void set_goal(Unrolling& unrolling, std::shared_ptr<const UserGoal> goal,
              const std::string& where) {
  std::optional<std::uint32_t> size;
  const auto cut = [&](std::uint32_t rank, std::uint32_t cells, std::size_t parts,
                       const char* what) {
    if (parts == 0) return;
    if (cells == 0 || cells % parts != 0 || (size && cells / parts != *size)) {
      throw InputError({where},
                       fmt::format("{} {} has {} cells of {}, expected {} equal parts{} for {}",
                                   unrolling.rank_word, rank, cells, what, parts,
                                   size ? fmt::format(" of {} cells", *size) : "", goal->name));
    }
    size = cells / static_cast<std::uint32_t>(parts);
  };
  for (std::uint32_t r = 0; r < unrolling.ranks; ++r) {
    cut(r, unrolling.users[r].input_cells, goal->inputs[r], "input");
    cut(r, unrolling.users[r].output_cells, goal->outputs[r].size(), "output");
  }
  unrolling.goal = std::move(goal);
}

std::string describe(const Unrolling& unrolling, Cell cell) {
  const Space& space = unrolling.space_of(cell);
  return fmt::format("{}[{}] of {} {}", space.name, (cell - space.first) / space.width,
                     unrolling.rank_word, space.rank);
}

std::string describe(const Unrolling& unrolling, const Operation& operation) {
  return fmt::format("{} launch {}", unrolling.origins[operation.origin].text, operation.launch);
}

Happening happening(const Unrolling& unrolling, const Operation& operation) {
  const Origin& origin = unrolling.origins[operation.origin];
  return {describe(unrolling, operation), {{}, origin.line, origin.column}};
}

namespace {

constexpr std::uint32_t kMaxGroupMultiple = 64;
/// All sizes of chunks are examined up to this multiple of the sizes of groups.
constexpr std::uint32_t kMaxResidues = 8;

/// The least common multiple of the sizes of thread block groups.
std::uint32_t group_multiple(const Plan& plan) {
  std::uint32_t multiple = 1;
  for_each_op(plan, [&](const Op& op, OpPlace) {
    const std::uint64_t next = std::lcm(std::uint64_t{multiple}, std::uint64_t{op.group_size});
    multiple = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMaxGroupMultiple));
  });
  return multiple;
}

/// Of the chunks of all messages that the plan is for, in units of the alignment; `largest` is 0
/// if there is no such message.
struct ChunkSizes {
  std::uint64_t smallest = 1;
  std::uint64_t largest = 0;
};

ChunkSizes chunk_sizes(const Plan& plan) {
  std::uint64_t chunks = 1;
  for (const Gpu& gpu : plan.gpus) {
    const std::uint64_t of_message = plan.collective == "allgather" || gpu.input_chunks == 0
                                         ? gpu.output_chunks
                                         : gpu.input_chunks;
    chunks = std::max(chunks, of_message);
  }
  const std::uint64_t unit = chunks * plan.alignment;  // below 2^45
  const std::uint64_t rest = plan.min_bytes % unit == 0 ? 0 : 1;
  return {std::max<std::uint64_t>(1, plan.min_bytes / unit + rest), plan.max_bytes / unit};
}

struct Pipelines {
  std::uint64_t unit = 0;       ///< the greatest common divisor of the unit sizes
  std::uint64_t largest = 0;    ///< unit, in units
  bool one_round = true;        ///< some message is handled in one round by all pipelines
  bool several_rounds = false;  ///< some message is not
};

/// Throws LimitReached where the rounds of pipelines differ: which numbers of rounds occur together
/// depends on the message's size.
Pipelines pipelines_of(const Plan& plan) {
  Pipelines found;
  found.unit = smallest_unit(plan);
  if (found.unit == 0) return found;
  const ChunkSizes sizes = chunk_sizes(plan);
  std::optional<std::pair<std::uint64_t, std::uint64_t>> share;  // units and chunks
  for_each_op(plan, [&](const Op& op, OpPlace) {
    if (op.type != OpType::Pipeline || op.num_chunks == 0) return;
    if (!share) share = {op.unit_size, op.num_chunks};
    if (op.unit_size * share->second != share->first * op.num_chunks) {
      throw LimitReached(LimitReached::Kind::Size,
                         "pipelines whose numbers of rounds differ from each other");
    }
    found.largest = std::max(found.largest, op.unit_size / found.unit);
    if (sizes.smallest * plan.alignment > op.unit_size / op.num_chunks) found.one_round = false;
    if (sizes.largest > op.unit_size / op.num_chunks / plan.alignment) found.several_rounds = true;
  });
  return found;
}

/// Whether scratch holds packets and what is none: packets are as large as two of the latter, so
/// that elements meet differently in chunks of different sizes.
bool mixes_packets(const Plan& plan) {
  bool packets = false;
  bool plain = false;
  for_each_op(plan, [&](const Op& op, OpPlace) {
    const auto shape = shape_of(op.type);
    if (!shape) return;
    packets = packets || shape->packets;
    plain = plain || !shape->packets || op.sources.size() + op.targets.size() > 2;
  });
  return packets && plain;
}

}  // namespace

std::uint64_t smallest_unit(const Plan& plan) {
  std::uint64_t unit = 0;
  for_each_op(plan, [&](const Op& op, OpPlace) {
    if (op.type == OpType::Pipeline) unit = std::gcd(unit, op.unit_size);
  });
  return unit;
}

bool has_messages(const Plan& plan) {
  const ChunkSizes sizes = chunk_sizes(plan);
  return sizes.smallest <= sizes.largest;
}

std::vector<Sizes> sizes_to_check(const Plan& plan) {
  const std::uint32_t multiple = group_multiple(plan);
  const ChunkSizes range = chunk_sizes(plan);
  std::vector<std::uint32_t> chunks = {1};
  if (multiple == 1 && mixes_packets(plan)) chunks = {1, 2, 3};
  if (multiple > 1) {
    // The cuts of chunks of c and c + multiple cells stand in the same order as soon as c exceeds
    // the square of the multiple.
    chunks.clear();
    const std::uint32_t square = multiple * multiple;
    for (std::uint32_t c = 1; multiple <= kMaxResidues && c <= square + multiple; ++c) {
      std::uint64_t size = c;
      if (c > square && size < range.smallest) {
        size += (range.smallest - size + multiple - 1) / multiple * multiple;
      }
      if (range.smallest <= size && size <= range.largest) chunks.push_back(c);
    }
    if (multiple > kMaxResidues) chunks = {multiple, multiple + 1, 2 * multiple + 1};
    for (std::uint32_t rest = 2; multiple > kMaxResidues && rest < kMaxResidues; ++rest) {
      chunks.push_back(multiple + rest);
    }
  }
  const Pipelines pipelines = pipelines_of(plan);
  std::vector<Sizes> all;
  if (pipelines.several_rounds) {
    const auto scale =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(pipelines.largest, kMaxGroupMultiple));
    all.push_back({5 * multiple * scale, 2 * multiple});
    if (multiple > 1) all.push_back({5 * multiple * scale + 1, 2 * multiple});
  }
  if (pipelines.unit == 0 || pipelines.one_round) {
    for (const std::uint32_t chunk : chunks) all.push_back({chunk, 0});
  }
  if (all.empty()) all.push_back({});  // for no message: unroll() refuses it
  return all;
}

std::vector<std::string> notes_on(const Plan& plan) {
  std::vector<std::string> open;
  const std::uint32_t multiple = group_multiple(plan);
  if (multiple > kMaxResidues) {
    open.push_back(
        fmt::format("of the {} residues of chunk sizes modulo {}, by which thread block "
                    "groups cut them, 8 were examined",
                    multiple, multiple));
  }
  constexpr std::uint64_t kScratchBytes = std::uint64_t{1} << 26;
  std::uint64_t chunks = 0;
  for (const Gpu& gpu : plan.gpus) chunks = std::max<std::uint64_t>(chunks, gpu.scratch_chunks);
  if (plan.reuses_resources && chunks > 0) {
    chunks *= plan.double_scratch ? 2 : 1;
    std::uint64_t parts = 1;
    for (const Gpu& gpu : plan.gpus) parts = std::max<std::uint64_t>(parts, gpu.input_chunks);
    if (plan.max_bytes / parts > kScratchBytes / chunks) {
      open.push_back(
          fmt::format("chunks above {} bytes, for which the executor wraps the scratch "
                      "buffer that plans share, are not modelled",
                      kScratchBytes / chunks));
    }
  }
  const auto uses = [&](OpType type) {
    bool found = false;
    for_each_op(plan, [&](const Op& op, OpPlace) { found = found || op.type == type; });
    return found;
  };
  const auto note = [&](OpType type, const char* defect) {
    if (uses(type)) open.push_back(fmt::format("{}: {}", to_string(type), defect));
  };
  note(OpType::Flush,
       "the executor takes its count from dst_buff, which plans lack, so that it "
       "does nothing; judged as a flush");
  note(OpType::Get, "the executor exchanges the two offsets; judged as written");
  note(OpType::GroupLoadReduceStore,
       "the language writes the index of the source into the target; judged as written");
  return open;
}

std::uint32_t launches_to_check(const Plan& plan) { return plan.double_scratch ? 4 : 3; }

}  // namespace p2::onesided
