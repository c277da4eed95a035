// `merge`: the answer of a campaign from the journals of its shards.
#include "p2/merge.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "p2/version.h"
#include "proofs/api/prove.h"

namespace p2 {
namespace {

struct NamedJournal {
  std::string path;
  campaign::JournalText text;
  campaign::Shard shard;
};

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw InputError({path}, message);
}

campaign::Shard shard_in(const NamedJournal& journal) {
  const std::string text = journal.text.header.at("shard");
  campaign::Shard shard;
  shard.number = static_cast<std::uint32_t>(std::stoul(text));
  shard.count = static_cast<std::uint32_t>(std::stoul(text.substr(text.find('/') + 1)));
  return shard;
}

/// The journals that have a first line; all of them of one campaign.
std::vector<NamedJournal> read_journals(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    throw InputError({"command line"}, "no journal, expected those of all shards");
  }
  std::vector<NamedJournal> journals;
  for (const std::string& path : paths) {
    NamedJournal journal{path, campaign::read_journal(path), {}};
    nlohmann::ordered_json& header = journal.text.header;
    if (header.is_null()) continue;  // a shard that was killed before its first line
    if (header.at("version") != build_info().version) {
      refuse(path, fmt::format("is of p2-verify {}, expected a journal of {}",
                               header.value("version", "another version"), build_info().version));
    }
    journal.shard = shard_in(journal);
    header.erase("shard");
    if (!journals.empty() && header != journals.front().text.header) {
      refuse(path, fmt::format("is the journal of other questions than {}, expected journals of "
                               "one campaign",
                               journals.front().path));
    }
    if (!journals.empty() && journal.shard.count != journals.front().shard.count) {
      refuse(path,
             fmt::format("is of {} shards, and {} of {}, expected journals of one campaign",
                         journal.shard.count, journals.front().path, journals.front().shard.count));
    }
    journals.push_back(std::move(journal));
  }
  if (journals.empty())
    refuse(paths.front(), "is empty, expected a journal that a shard has begun");
  return journals;
}

void record_answers(const std::vector<NamedJournal>& journals, claims::Campaign& questions) {
  std::map<std::size_t, const NamedJournal*> answered_in;
  for (const NamedJournal& journal : journals) {
    for (const auto& [question, answer] : journal.text.answers) {
      const auto [first, is_new] = answered_in.emplace(question, &journal);
      if (is_new) {
        questions.record(question, answer);
      } else if (first->second->text.answers.at(question) != answer) {
        refuse(journal.path, fmt::format("answers question {} unlike {}, expected the same answer",
                                         question, first->second->path));
      }
    }
  }
}

/// Throws LimitReached, and names the shards, where questions are not answered.
void require_answers(const claims::Campaign& questions, const std::vector<NamedJournal>& journals) {
  const std::uint32_t count = journals.front().shard.count;
  const std::vector<std::uint32_t> shards = campaign::shard_of_questions(questions, count);
  std::vector<std::size_t> asked(count + 1);
  std::vector<std::size_t> missing(count + 1);
  for (std::size_t question = 0; question < shards.size(); ++question) {
    ++asked[shards[question]];
    if (!questions.is_answered(question)) ++missing[shards[question]];
  }
  std::string lacking;
  for (std::uint32_t shard = 1; shard <= count; ++shard) {
    if (missing[shard] == 0) continue;
    const bool has_journal = std::ranges::any_of(
        journals, [&](const NamedJournal& each) { return each.shard.number == shard; });
    lacking += fmt::format(
        "{}shard {} of {} {} ({} of {} questions are not answered)", lacking.empty() ? "" : ", ",
        shard, count, has_journal ? "is incomplete" : "is missing", missing[shard], asked[shard]);
  }
  if (lacking.empty()) return;
  throw LimitReached(LimitReached::Kind::Cancelled,
                     lacking + "; run prove with --shard and --resume, and merge again");
}

ProveAnswer merge_proofs(const std::vector<NamedJournal>& journals, const Options& options) {
  const JournaledRequest journaled = journaled_request(journals.front().text.header);
  Options as_asked = options;
  as_asked.seed = journaled.seed;
  Settled settled{campaign_request(journaled.request, as_asked), {}, {}};
  claims::Campaign questions(settled.request, options.limits);
  if (questions.count() != journaled.questions) {
    refuse(journals.front().path, fmt::format("is of {} questions, expected {} as its request has",
                                              journaled.questions, questions.count()));
  }
  record_answers(journals, questions);
  require_answers(questions, journals);
  settled.results = questions.take_results({});
  return answer_of(settled, false, {}, as_asked);
}

}  // namespace

Answer merge(const MergeRequest& request, const Options& options) {
  try {
    const std::vector<NamedJournal> journals = read_journals(request.journals);
    if (journals.front().text.header.at("command") != "prove") {
      refuse(journals.front().path, "is of a command that merge does not know, expected prove");
    }
    return merge_proofs(journals, options);
  } catch (const nlohmann::json::exception& error) {
    throw InputError({request.journals.front()},
                     fmt::format("or another one is no journal of this version ({}), expected one "
                                 "that --resume has written",
                                 error.what()));
  }
}

}  // namespace p2
