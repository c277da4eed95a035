// The search for a relation of several programs.

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "proofs/certificate/relation_search.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

using kernel::xla::ProgramsRelation;
using kernel::xla::RelatedPrograms;
using Numbers = std::vector<std::size_t>;
using ProgramFact = RelatedPrograms::ProgramFact;

/// Relates several programs: each in the order of its text, as far as what it needs of others is
/// related.
class ProgramsSearch {
 public:
  ProgramsSearch(RelatedPrograms& programs, const Limits& limits) : programs_(programs) {
    for (std::size_t k = 0; k < programs.programs().count(); ++k) {
      searches_.push_back(std::make_unique<RelationSearch>(programs.at(k), limits));
      for (std::size_t fact = 0; fact < searches_[k]->given(); ++fact) order_.emplace_back(k, fact);
    }
    given_ = order_.size();
  }

  /// relation.json, or nothing. Throws LimitReached.
  std::optional<std::string> run(const std::vector<ProgramsRelation>& outputs) {
    std::vector<Numbers> ends(searches_.size());
    for (std::size_t k = 0; k < searches_.size(); ++k) {
      for (std::size_t node = 0; node < nodes_of(k); ++node) {
        for (const auto& [program, origin] : programs_.origins({k, node}))
          ends[program].push_back(origin);
      }
    }
    for (std::size_t k = 0; k < searches_.size(); ++k)
      needed_.push_back(searches_[k]->needed_nodes(ends[k]));
    next_.assign(searches_.size(), 0);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t k = 0; k < searches_.size(); ++k) goes_on = relate_program(k) || goes_on;
    }
    std::vector<std::vector<ProgramFact>> answers;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      answers.emplace_back();
      for (std::size_t program = 0; program < searches_.size(); ++program) {
        const auto own = relation_on(programs_.programs(), program, outputs[k]);
        if (!own || own->pieces.empty()) continue;
        const bool is_share = own->reducer && outputs[k].numbers.size() > 1;
        const auto found = searches_[program]->answer_to(k, *own, is_share);
        note(program);
        if (!found) {
          lost_ = searches_[program]->lost();
          return std::nullopt;
        }
        answers.back().emplace_back(program, *found);
      }
    }
    return text_of(answers);
  }
  const std::string& lost() const { return lost_; }

 private:
  std::size_t nodes_of(std::size_t program) const {
    return programs_.at(program).local().nodes.size();
  }

  /// Notes the new facts of a program, in the order in which they follow.
  void note(std::size_t program) {
    const std::size_t count = searches_[program]->lines().size();
    for (auto& known = noted_[program]; known + searches_[program]->given() < count; ++known)
      order_.emplace_back(program, known + searches_[program]->given());
  }

  /// As far as possible; whether that was any further.
  bool relate_program(std::size_t program) {
    std::size_t& next = next_[program];
    const std::size_t first = next;
    for (; next < nodes_of(program); ++next) {
      if (!needed_[program][next]) continue;
      const auto& origins = programs_.origins({program, next});
      const bool is_known = std::all_of(origins.begin(), origins.end(), [&](const auto& each) {
        return each.second < next_[each.first];
      });
      if (!is_known) break;
      if (origins.empty())
        searches_[program]->relate_node(next);
      else
        exchange(program, next, origins);
      note(program);
    }
    return next != first;
  }

  void exchange(std::size_t program, std::size_t node,
                const std::vector<RelatedPrograms::ProgramNode>& origins) {
    std::vector<std::vector<ProgramFact>> all = {{}};
    for (const auto& [other, origin] : origins) {
      std::vector<std::vector<ProgramFact>> longer;
      for (const auto& begin : all) {
        for (const std::size_t fact : searches_[other]->facts_of(origin)) {
          if (longer.size() == RelationSearch::kMaxChoices) break;
          longer.push_back(begin);
          longer.back().emplace_back(other, fact);
        }
      }
      all = std::move(longer);
    }
    for (const auto& facts : all) {
      if (auto fact = programs_.follows({program, node}, facts, {}))
        searches_[program]->add(node, facts, std::move(*fact));
    }
  }

  /// Only the facts that the outputs need, and those about inputs.
  std::string text_of(const std::vector<std::vector<ProgramFact>>& answers) const {
    std::vector<std::vector<bool>> used;
    for (const auto& search : searches_) used.emplace_back(search->lines().size(), false);
    for (const auto& output : answers) {
      for (const auto& [program, fact] : output) used[program][fact] = true;
    }
    for (std::size_t k = order_.size(); k-- > given_;) {
      const auto& [program, fact] = order_[k];
      if (!used[program][fact]) continue;
      const RelationSearch::Line& line = searches_[program]->lines()[fact];
      for (const std::size_t each : line.facts) used[program][each] = true;
      for (const auto& [other, each] : line.others) used[other][each] = true;
    }
    std::vector<Numbers> numbers;
    for (const auto& search : searches_) numbers.emplace_back(search->lines().size());
    nlohmann::ordered_json facts = nlohmann::ordered_json::array();
    std::size_t next = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const auto& [program, fact] = order_[k];
      if (k >= given_ && !used[program][fact]) continue;
      numbers[program][fact] = next++;
      if (k < given_) continue;
      const RelationSearch::Line& each = searches_[program]->lines()[fact];
      nlohmann::ordered_json line = {program, each.node, each.facts.size() + each.others.size()};
      for (const std::size_t own : each.facts) line.push_back(numbers[program][own]);
      for (const auto& [other, number] : each.others) line.push_back(numbers[other][number]);
      for (const std::int64_t size : each.hint) line.push_back(size);
      facts.push_back(std::move(line));
    }
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (const auto& output : answers) {
      nlohmann::ordered_json own = nlohmann::ordered_json::array();
      for (const auto& [program, fact] : output) own.push_back(numbers[program][fact]);
      outputs.push_back(std::move(own));
    }
    const nlohmann::ordered_json all = {{"facts", std::move(facts)},
                                        {"outputs", std::move(outputs)}};
    return all.dump() + "\n";
  }

  RelatedPrograms& programs_;
  std::vector<std::unique_ptr<RelationSearch>> searches_;
  std::vector<ProgramFact> order_;            ///< in which facts follow
  std::size_t given_ = 0;                     ///< of `order_`, about inputs
  std::map<std::size_t, std::size_t> noted_;  ///< by program, besides those given
  std::vector<std::vector<bool>> needed_;
  Numbers next_;  ///< by program, the node that is related next
  std::string lost_;
};

}  // namespace

void relate_programs(RelatedPrograms& programs, const std::vector<ProgramsRelation>& outputs,
                     const Limits& limits) {
  ProgramsSearch(programs, limits).run(outputs);
}

std::variant<std::string, std::string> programs_evidence(const CertificateFiles& files,
                                                         const Limits& limits) {
  return evidence_by<ProgramsSearch>(kernel::xla::with_related_programs, files, limits);
}

}  // namespace p2
