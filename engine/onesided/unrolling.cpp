#include "engine/onesided/unrolling.h"

#include <algorithm>
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

}  // namespace p2::onesided
