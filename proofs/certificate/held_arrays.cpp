// How devices hold arrays, by the facts of a relation, for drawings.

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "proofs/certificate/relation_search.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/input.h"

namespace p2 {
namespace {

using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::Place;
using kernel::xla::RelatedModules;
using Index = kernel::xla::Index;

hlo::Reducer reducer_of(Op op) {
  switch (op) {
    case Op::Add:
      return hlo::Reducer::Add;
    case Op::Multiply:
      return hlo::Reducer::Multiply;
    case Op::Maximum:
      return hlo::Reducer::Maximum;
    case Op::Minimum:
      return hlo::Reducer::Minimum;
    default:
      return hlo::Reducer::Unknown;
  }
}

/// Groups with one device of every part; none where devices do not have the parts equally often.
std::vector<std::vector<std::uint32_t>> groups_of(const kernel::xla::Partial& partial) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> holders;
  for (std::uint32_t device = 0; device < partial.groups.size(); ++device)
    holders[partial.groups[device]][partial.copies[device]].push_back(device);
  std::vector<std::vector<std::uint32_t>> groups;
  for (const auto& [group, parts] : holders) {
    const std::size_t copies = parts.begin()->second.size();
    for (std::size_t k = 0; k < copies; ++k) {
      groups.emplace_back();
      for (const auto& [part, devices] : parts) {
        if (devices.size() != copies) return {};
        groups.back().push_back(devices[k]);
      }
    }
  }
  return groups;
}

/// The arrays of one module, by name: the nodes, and the fact about each that is shown.
class NamedFacts {
 public:
  explicit NamedFacts(const RelatedModules& modules)
      : modules_(modules), facts_(modules.local().nodes.size(), nullptr) {
    const auto& nodes = modules.local().nodes;
    std::set<std::pair<const kernel::xla::Instruction*, std::size_t>> seen;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      // What is executed in several places has no name of its own.
      const auto [known, is_new] =
          nodes_.insert_or_assign({nodes[i].instruction->name, nodes[i].part}, i);
      if (!seen.emplace(nodes[i].instruction, nodes[i].part).second) several_.insert(known->first);
    }
    for (const Fact& fact : modules.facts()) {
      const Fact*& shown = facts_[fact.node];
      if (!fact.view && (shown == nullptr || (!has_name(*shown) && has_name(fact)))) shown = &fact;
    }
  }

  std::optional<std::size_t> node(const hlo::HeldArrays::Array& array) const {
    const auto found = nodes_.find({array.instruction.name, array.part});
    if (found == nodes_.end() || several_.contains(found->first) ||
        modules_.local().nodes[found->second].shape.sizes != array.shape.sizes)
      return std::nullopt;
    return found->second;
  }

  /// Of an array on the device with this number among those of the module.
  std::optional<hlo::HeldElement> element(const hlo::HeldArrays::Array& array, std::size_t device,
                                          const Index& index) const {
    const Fact* const fact = fact_of(array);
    if (fact == nullptr || fact->places.size() != index.size()) return std::nullopt;
    hlo::HeldElement held{has_name(*fact) ? modules_.names().at(fact->tensor) : "", index};
    if (fact->share) held.reducer = hlo::Reducer::Add;
    if (fact->partial) {
      const kernel::xla::Partial& partial = modules_.places().partial_at(*fact->partial);
      held.reducer = reducer_of(partial.op);
      held.groups = groups_of(partial);
    }
    for (std::size_t k = 0; k < index.size(); ++k) {
      const Place& place = modules_.places().at(fact->places[k]);
      if (place.devices.empty()) continue;
      const auto& segments = place.devices.at(device);
      const auto found = std::ranges::find_if(segments, [&](const auto& each) {
        return each.at <= index[k] && index[k] < each.at + each.size;
      });
      if (found == segments.end()) {
        held.is_padding = true;
        return held;
      }
      held.index[k] += found->of - found->at;
    }
    return held;
  }

  std::optional<hlo::HeldRange> range(const hlo::HeldArrays::Array& array, std::size_t device,
                                      std::size_t dimension) const {
    const Fact* const fact = fact_of(array);
    if (fact == nullptr || fact->partial || fact->share || !has_name(*fact) ||
        dimension >= fact->places.size())
      return std::nullopt;
    const Place& place = modules_.places().at(fact->places[dimension]);
    if (place.devices.empty()) return std::nullopt;
    hlo::HeldRange held{modules_.names().at(fact->tensor), {}};
    std::int64_t all = 0;
    for (const auto& each : place.devices.at(device)) {
      held.ranges.emplace_back(each.of, each.of + each.size);
      all += each.size;
    }
    return all == place.whole ? std::nullopt : std::optional(std::move(held));
  }

  std::optional<std::int64_t> number(const hlo::HeldArrays::Array& array,
                                     std::size_t device) const {
    const auto found = node(array);
    if (!found || !modules_.has_numbers(*found)) return std::nullopt;
    const kernel::xla::TensorPtr& tensor = modules_.numbers(*found).devices.at(device);
    if (tensor->cells.size() != 1) return std::nullopt;
    return kernel::xla::make_numbers(0, 0)->known(tensor->cells[0], tensor->type);
  }

 private:
  bool has_name(const Fact& fact) const { return modules_.names().contains(fact.tensor); }

  const Fact* fact_of(const hlo::HeldArrays::Array& array) const {
    const auto found = node(array);
    return found ? facts_[*found] : nullptr;
  }

  using Name = std::pair<std::string, std::size_t>;  ///< and which of several results
  const RelatedModules& modules_;
  std::map<Name, std::size_t> nodes_;
  std::set<Name> several_;
  std::vector<const Fact*> facts_;
};

/// By facts about one module or several programs; about none, nothing is known.
class HeldByFacts : public hlo::HeldArrays {
 public:
  HeldByFacts() = default;
  explicit HeldByFacts(const RelatedModules& modules) { of_.emplace_back(modules); }
  explicit HeldByFacts(kernel::xla::RelatedPrograms& programs) : programs_(&programs.programs()) {
    for (std::size_t k = 0; k < programs_->count(); ++k) of_.emplace_back(programs.at(k));
  }

  std::optional<hlo::HeldElement> element(const Array& array, const Index& index) const override {
    const NamedFacts* const facts = facts_on(array.device);
    return facts != nullptr ? facts->element(array, own(array.device), index) : std::nullopt;
  }
  std::optional<hlo::HeldRange> range(const Array& array, std::size_t dimension) const override {
    const NamedFacts* const facts = facts_on(array.device);
    return facts != nullptr ? facts->range(array, own(array.device), dimension) : std::nullopt;
  }
  std::optional<std::int64_t> number(const Array& array) const override {
    const NamedFacts* const facts = facts_on(array.device);
    return facts != nullptr ? facts->number(array, own(array.device)) : std::nullopt;
  }

 private:
  const NamedFacts* facts_on(std::uint32_t device) const {
    if (of_.empty()) return nullptr;
    return &of_[programs_ != nullptr ? programs_->program_of(device) : 0];
  }
  std::size_t own(std::uint32_t device) const {
    return programs_ != nullptr ? programs_->own_number(device) : device;
  }

  const kernel::xla::Programs* programs_ = nullptr;
  std::vector<NamedFacts> of_;
};

/// `find()`, which stops at a limit: what was found until then counts.
template <typename Find>
void as_far_as_possible(const Find& find) {
  try {
    find();
  } catch (const LimitReached&) {
  } catch (const kernel::CheckFailure&) {
  }
}

}  // namespace

void with_held_arrays(const CertificateFiles& problem, bool is_of_programs, const Limits& limits,
                      const std::function<void(const hlo::HeldArrays& held)>& use) {
  bool is_used = false;
  const auto use_once = [&](const hlo::HeldArrays& held) {
    is_used = true;
    use(held);
  };
  try {
    if (is_of_programs) {
      kernel::xla::with_related_programs(problem, [&](auto& programs, const auto& outputs) {
        as_far_as_possible([&] { relate_programs(programs, outputs, limits); });
        use_once(HeldByFacts(programs));
      });
    } else {
      kernel::xla::with_related_modules(problem, [&](auto& modules, const auto& outputs) {
        as_far_as_possible([&] { RelationSearch(modules, limits).run(outputs); });
        use_once(HeldByFacts(modules));
      });
    }
  } catch (const kernel::CheckFailure&) {
    if (!is_used) use(HeldByFacts());
  }
}

}  // namespace p2
