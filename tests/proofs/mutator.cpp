#include "tests/proofs/mutator.h"

#include <iterator>

namespace p2::proofs {
namespace {

constexpr const char* kWords[] = {"AllReduce",
                                  "Reduce",
                                  "Broadcast",
                                  "printed",
                                  "published",
                                  "InsideGroup",
                                  "node",
                                  "root",
                                  "gpu",
                                  "Parallel",
                                  "Parallel(root)",
                                  "Master(root)",
                                  "Master(node)",
                                  "{node.data}",
                                  "collapsed",
                                  "lattice",
                                  "a",
                                  "c",
                                  "d",
                                  "none",
                                  "classes",
                                  "same-chunks",
                                  "disjoint",
                                  "divisible",
                                  "equal-count",
                                  "contained",
                                  "informative",
                                  "empty-group",
                                  "goal",
                                  "master",
                                  "disjoint-chunks"};

}  // namespace

std::string Mutator::mutate(CertificateFiles& files) {
  std::string claim = claim_of(files);
  files.erase("manifest.json");
  for (std::size_t times = 1 + below(3); times > 0; --times) {
    if (below(2) == 0)
      blindly(files);
    else
      in_form(files);
  }
  if (below(40) == 0) {
    claim = claim == "program-valid" ? "program-invalid" : "program-valid";
    if (claim == "program-valid") files.erase("refutation.json");
  }
  reseal(claim, files);
  return claim;
}

void Mutator::blindly(CertificateFiles& files) {
  auto file = files.begin();
  std::advance(file, below(files.size()));
  Json parsed = Json::parse(file->second, nullptr, false);
  if (below(10) == 0 || parsed.is_discarded()) {
    file->second[below(file->second.size())] ^= static_cast<char>(1U << below(8));
  } else {
    change(parsed);
    file->second = parsed.dump();
  }
}

/// Changes one place of a document.
void Mutator::change(Json& root) {
  Json* node = &root;
  while (node->is_structured() && !node->empty() && below(6) != 0) {
    auto place = node->begin();
    std::advance(place, below(node->size()));
    node = &*place;
  }
  if (node->is_array()) return change_list(*node);
  if (node->is_object()) return change_object(*node);
  if (node->is_string()) {
    *node = kWords[below(std::size(kWords))];
  } else if (node->is_number()) {
    const auto number = node->get<std::int64_t>();
    const std::int64_t others[] = {number + 1, number - 1, 0, static_cast<int>(below(8)), 1 << 20};
    const std::int64_t other = others[below(std::size(others))];
    *node = other < 0 ? Json(other) : Json(static_cast<std::uint64_t>(other));
  }
}

void Mutator::change_list(Json& list) {
  if (list.empty()) return list.push_back(below(4));
  const std::size_t at = below(list.size());
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(5)) {
    case 0:
      list.erase(place);
      return;
    case 1:
      list.insert(place, Json(*place));
      return;
    case 2:
      std::swap(list[at], any(list));
      return;
    case 3:
      list[at] = Json(any(list));
      return;
    default:
      list.push_back(list[at].is_number() ? Json(below(8)) : Json(any(list)));
  }
}

void Mutator::change_object(Json& object) {
  if (object.empty()) return;
  auto place = object.begin();
  std::advance(place, below(object.size()));
  const Json value = *place;
  if (below(2) == 0) {
    object[place.key() + "s"] = value;
  } else {
    object.erase(place.key());
  }
}

}  // namespace p2::proofs
