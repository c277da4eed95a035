#include "engine/oracle/test_vectors.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"

namespace p2::vectors {
namespace {

using execution::Inputs;
using execution::Reference;
using language::Definition;
using language::GroupState;
using Json = nlohmann::ordered_json;

constexpr std::uint32_t kMinGroup = 2;
constexpr std::uint32_t kMaxGroup = 4;
constexpr std::size_t kMaxStates = 64;  // of one group size
constexpr std::size_t kMaxCases = 8;    // of one group size, legal and refused each

constexpr const char* kDefinitionReadme = R"(# Test vectors of the collective {name}

{description}

Each case of `index.json` is one group of ranks before the step. `before[i][c]` lists the contributors
whose inputs are added up in chunk c of the rank at position i; an empty list means that it does not
hold the chunk. A legal case has the same `after` the step; the others name the `premise` that refuses
them. The arrays have the axes rank, chunk, element ({type}), and are 0 where nothing is held.
)";

/// The state with all ranks but the first in reverse order.
GroupState reversed(const GroupState& state) {
  GroupState other(state.devices(), state.chunks(), state.contributors());
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    const std::uint32_t from = i == 0 ? 0 : state.devices() - i;
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      for (std::uint32_t c = 0; c < state.contributors(); ++c) {
        other.set(i, r, c, state.holds(from, r, c));
      }
    }
  }
  return other;
}

/// Every rank holds its own contribution in every chunk.
GroupState start_of(std::uint32_t ranks, std::uint32_t chunks) {
  GroupState start(ranks, chunks, ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) start.set(i, chunk, i, true);
  }
  return start;
}

/// Reachable states in breadth-first order, at most kMaxStates.
std::vector<GroupState> reachable(const Definition& own, std::uint32_t ranks,
                                  std::uint32_t chunks) {
  std::vector<GroupState> met = {start_of(ranks, chunks)};
  const auto meet = [&](GroupState state) {
    if (met.size() == kMaxStates || std::find(met.begin(), met.end(), state) != met.end()) return;
    met.push_back(std::move(state));
  };
  const auto step = [&](const Definition& definition, const GroupState& state) {
    if (!first_failed_premise(definition, state)) meet(post_state(definition, state));
  };
  for (std::size_t i = 0; i < met.size(); ++i) {
    const GroupState state = met[i];
    step(own, state);
    for (const Definition& definition : language::built_in_definitions()) step(definition, state);
    meet(reversed(state));
  }
  return met;
}

class Cases {
 public:
  Cases(const Definition& definition, const VectorOptions& options)
      : definition_(definition), options_(options) {}

  FolderFiles files() && {
    for (std::uint32_t ranks = kMinGroup; ranks <= kMaxGroup; ++ranks) add_group(ranks);
    const Json index = {{"schema", "p2-oracle/1"},
                        {"kind", "collective"},
                        {"collective", definition_.name},
                        {"seed", options_.seed},
                        {"type", to_string(options_.type)},
                        {"numpy", numpy_name(options_.type)},
                        {"chunk_elements", options_.chunk_elements},
                        {"cases", cases_}};
    files_["index.json"] = index.dump(2) + "\n";
    files_["README.md"] =
        fmt::format(fmt::runtime(kDefinitionReadme), fmt::arg("name", definition_.name),
                    fmt::arg("description", definition_.description),
                    fmt::arg("type", to_string(options_.type)));
    return std::move(files_);
  }

 private:
  void add_group(std::uint32_t ranks) {
    std::size_t legal = 0;
    std::size_t refused = 0;
    std::vector<GroupState> states = reachable(definition_, ranks, ranks);
    const auto runs = [&](const GroupState& state) {
      return !first_failed_premise(definition_, state);
    };
    // A collective that distributes blocks of chunks, as all-to-all does, needs more than one each.
    if (std::ranges::none_of(states, runs)) states = reachable(definition_, ranks, ranks * ranks);
    for (const GroupState& before : states) {
      const auto failed = first_failed_premise(definition_, before);
      if ((failed ? refused : legal)++ < kMaxCases) add(before, failed);
    }
  }

  void add(const GroupState& before, const std::optional<language::FailedPremise>& failed) {
    const std::string name = fmt::format("case-{:02}", cases_.size() + 1);
    Json entry = {{"ranks", before.devices()},
                  {"legal", !failed},
                  {"before", Json::parse(state_json(before))},
                  {"before_values", name + "-before.npy"}};
    files_[name + "-before.npy"] = values(before);
    if (failed) {
      const language::Premise& premise = definition_.premises[failed->premise];
      entry["premise"] = premise.name;
      entry["reason"] = premise.description;
    } else {
      const GroupState after = post_state(definition_, before);
      entry["after"] = Json::parse(state_json(after));
      entry["after_values"] = name + "-after.npy";
      files_[name + "-after.npy"] = values(after);
    }
    cases_.push_back(std::move(entry));
  }

  std::string values(const GroupState& state) const {
    const Inputs inputs{options_.type, Inputs::Kind::Integers, state.contributors(), options_.seed};
    const std::size_t chunk = options_.chunk_elements;
    std::vector<std::byte> buffer(std::size_t{state.devices()} * state.chunks() * chunk *
                                  size_of(options_.type));
    Reference reference;
    for (std::uint32_t i = 0; i < state.devices(); ++i) {
      for (std::uint32_t r = 0; r < state.chunks(); ++r) {
        std::vector<std::uint32_t> held;
        for (std::uint32_t c = 0; c < state.contributors(); ++c) {
          if (state.holds(i, r, c)) held.push_back(c);
        }
        reference.compute(inputs, held, r * chunk, chunk);
        reference.write(options_.type, buffer, (i * state.chunks() + r) * chunk);
      }
    }
    return array_file(options_.type, {state.devices(), state.chunks(), chunk}, buffer);
  }

  const Definition& definition_;
  const VectorOptions& options_;
  FolderFiles files_;
  Json cases_ = Json::array();
};

}  // namespace

FolderFiles definition_vectors(const Definition& definition, const VectorOptions& options) {
  return Cases(definition, options).files();
}

}  // namespace p2::vectors
