#include "tests/hlo/small_claims.h"

#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo::small {
namespace {

using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::Place;
using kernel::xla::RelatedModules;
using kernel::xla::Segment;
using kernel::xla::View;

/// For every dimension, the indices of a device's array and of the whole that belong together.
std::vector<std::vector<std::pair<Index, Index>>> matching(const std::vector<const Place*>& places,
                                                           std::size_t devices) {
  std::vector<std::vector<std::pair<Index, Index>>> all(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    std::vector<std::pair<Index, Index>> pairs = {{}};
    for (const Place* place : places) {
      std::vector<std::pair<std::int64_t, std::int64_t>> along;
      if (place->devices.empty()) {
        for (std::int64_t i = 0; i < place->size; ++i) {
          for (std::int64_t j = 0; j < place->whole; ++j) along.emplace_back(i, j);
        }
      } else {
        for (const Segment& each : place->devices.at(device)) {
          for (std::int64_t i = 0; i < each.size; ++i) along.emplace_back(each.at + i, each.of + i);
        }
      }
      std::vector<std::pair<Index, Index>> next;
      for (const auto& [own, whole] : pairs) {
        for (const auto& [i, j] : along) {
          next.emplace_back(own, whole);
          next.back().first.push_back(i);
          next.back().second.push_back(j);
        }
      }
      pairs = std::move(next);
    }
    all[device] = std::move(pairs);
  }
  return all;
}

/// The element of the whole as a view shows it to a device; nothing where it says nothing.
std::optional<double> seen(const RelatedModules& modules, const Fact& fact, std::size_t device,
                           const Index& index, WholeTensors& wholes) {
  const double whole = wholes.at(fact.tensor).at(index);
  if (!fact.view) return whole;
  const View& view = *fact.view;
  const auto from = static_cast<double>(view.from.at(device));
  const auto to = view.to.empty() ? 0 : static_cast<double>(view.to.at(device));
  switch (view.kind) {
    case View::Kind::Minus:
      return in_type(whole - from, modules.tensors().at(fact.tensor).kind);
    case View::Kind::Within:
      return (from <= whole && whole < to) != view.is_not ? 1 : 0;
    case View::Kind::Where: {
      const double number = wholes.at(view.of).at(index);
      return number < from || number >= to ? std::nullopt : std::optional(whole);
    }
    case View::Kind::Only:
      return from == 0 ? 0 : whole;
  }
  return std::nullopt;
}

double sum_of_summands(const RelatedModules& modules, const Fact& fact,
                       const std::vector<std::size_t>& device, const Index& index,
                       WholeTensors& wholes) {
  double total = 0;
  for (const Index& each : summands_of(modules, fact, device))
    total = reduced("add", total, wholes.at(fact.share->summand, each).at(index),
                    modules.tensors().at(fact.tensor).kind);
  return total;
}

}  // namespace

std::string name_of(Op op) {
  switch (op) {
    case Op::Add:
      return "add";
    case Op::Multiply:
      return "multiply";
    case Op::Maximum:
      return "maximum";
    case Op::Minimum:
      return "minimum";
    case Op::And:
      return "and";
    case Op::Or:
      return "or";
    case Op::Xor:
      return "xor";
    default:
      throw std::out_of_range("a reduction by another operation");
  }
}

Claims claims_of(const RelatedModules& modules, const Fact& fact, const Index& own,
                 const Index& whole) {
  Claims claims;
  std::vector<const Place*> places;
  for (const std::size_t each : fact.places) places.push_back(&modules.places().at(each));
  if (places.size() != whole.size()) return {"dimensions of the whole", {}};
  if (places.size() != own.size()) return {"dimensions of an array", {}};
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (places[k]->size != own[k] || places[k]->whole != whole[k]) return {"sizes of a place", {}};
  }
  if (fact.view && (fact.partial || fact.share)) return {"a view of parts", {}};
  if (fact.share && fact.partial) return {"a share of parts", {}};
  const std::size_t devices = modules.places().devices();
  const auto pairs = matching(places, devices);
  if (fact.share) {
    for (const Index& index : indices_of(whole)) claims.all.push_back({{}, {}, index});
  }
  if (!fact.partial) {
    for (std::size_t device = 0; device < devices; ++device) {
      for (const auto& [at, index] : pairs[device]) claims.all.push_back({{device}, at, index});
    }
    return claims;
  }
  const auto& partial = modules.places().partial_at(*fact.partial);
  for (std::size_t device = 0; device < devices; ++device) {
    const std::size_t first = partial.groups.at(device);
    if (pairs[device] != pairs.at(first)) return {"segments of a group", {}};
    if (partial.groups.at(partial.copies.at(device)) != first) return {"copies beyond a group", {}};
    if (first != device) continue;
    std::map<std::uint32_t, std::size_t> parts;
    std::vector<std::pair<std::size_t, std::size_t>> copies;
    for (std::size_t other = 0; other < devices; ++other) {
      if (partial.groups[other] != first) continue;
      const std::size_t one = parts.emplace(partial.copies[other], other).first->second;
      if (one != other) copies.emplace_back(one, other);
    }
    std::vector<std::size_t> all;
    for (const auto& [copy, one] : parts) all.push_back(one);
    for (const auto& [at, index] : pairs[device]) {
      claims.all.push_back({all, at, index});
      for (const auto& [one, other] : copies) claims.all.push_back({{one, other}, at, index, true});
    }
  }
  return claims;
}

std::vector<Index> summands_of(const RelatedModules& modules, const Fact& fact,
                               const std::vector<std::size_t>& device) {
  const auto& parts = modules.places().parts_at(fact.share->parts);
  if (device.empty()) return indices_of(parts.space);
  std::vector<Index> all;
  for (const auto& box : parts.devices.at(device[0])) {
    for (Index index : indices_of(box.sizes)) {
      for (std::size_t k = 0; k < index.size(); ++k) index[k] += box.from[k];
      all.push_back(index);
    }
  }
  return all;
}

std::string contradiction(const RelatedModules& modules, const Fact& fact,
                          const std::vector<Array>& devices, WholeTensors& wholes) {
  const Array& whole = wholes.at(fact.tensor);
  for (const Array& array : devices) {
    if (array.sizes != devices[0].sizes) return "sizes of arrays";
  }
  const Claims claims = claims_of(modules, fact, devices.at(0).sizes, whole.sizes);
  if (!claims.contradiction.empty()) return claims.contradiction;
  const std::string& type = modules.tensors().at(fact.tensor).kind;
  for (const Claim& claim : claims.all) {
    if (claim.are_copies) {
      if (!is_same(devices[claim.devices[0]].at(claim.own),
                   devices[claim.devices[1]].at(claim.own)))
        return "copies that differ";
      continue;
    }
    std::optional<double> expected;
    if (fact.share)
      expected = sum_of_summands(modules, fact, claim.devices, claim.whole, wholes);
    else
      expected = seen(modules, fact, claim.devices[0], claim.whole, wholes);
    if (!expected) continue;
    double found =
        claim.devices.empty() ? whole.at(claim.whole) : devices[claim.devices[0]].at(claim.own);
    for (std::size_t k = 1; k < claim.devices.size(); ++k)
      found = reduced(name_of(modules.places().partial_at(*fact.partial).op), found,
                      devices[claim.devices[k]].at(claim.own), type);
    if (!is_same(found, *expected))
      return fmt::format("devices {} have {} at {}, not {}", fmt::join(claim.devices, " "), found,
                         fmt::join(claim.own, ","), *expected);
  }
  return "";
}

}  // namespace p2::hlo::small
