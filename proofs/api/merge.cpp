// `merge`: the answer of a campaign from the journals of its shards.
#include "p2/campaign.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/campaign/campaign.h"
#include "p2/cost.h"
#include "p2/version.h"
#include "proofs/api/checked_files.h"
#include "proofs/api/prove.h"
#include "proofs/api/synthesize.h"

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
      refuse(path,
             fmt::format("is the journal of different questions from {}, expected journals of "
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

/// Gives the questions all answers of the journals. Throws InputError where two differ, and
/// LimitReached, with the names of the shards, where questions are not answered.
void take_answers(const std::vector<NamedJournal>& journals, campaign::Questions& questions) {
  const NamedJournal& any = journals.front();
  if (any.text.header.at("questions") != questions.count()) {
    refuse(any.path, fmt::format("is of {} questions, expected {} as its request has",
                                 any.text.header.at("questions").dump(), questions.count()));
  }
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
  const std::uint32_t count = any.shard.count;
  const std::vector<std::uint32_t> shards = campaign::shard_of_questions(questions, count);
  std::vector<std::size_t> asked(count + 1);
  std::vector<std::size_t> missing(count + 1);
  for (std::size_t question = 0; question < shards.size(); ++question) {
    ++asked[shards[question]];
    if (!answered_in.contains(question)) ++missing[shards[question]];
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
                     lacking + "; run it with --shard and --resume, and merge again");
}

ProveAnswer merge_proofs(const std::vector<NamedJournal>& journals, const Options& options) {
  const JournaledRequest journaled = journaled_request(journals.front().text.header);
  Options as_asked = options;
  as_asked.seed = journaled.seed;
  Settled settled{campaign_request(journaled.request, as_asked), {}, {}};
  claims::Campaign questions(settled.request, options.limits);
  take_answers(journals, questions);
  settled.results = questions.take_results({});
  return answer_of(settled, false, {}, as_asked);
}

/// Answers the questions that a request has now. Throws InputError where its files have changed.
CampaignRun run_of(const std::vector<NamedJournal>& journals) {
  return {{}, [&journals](campaign::Questions& questions, const Json& header) {
            const auto now = nlohmann::ordered_json::parse(header.dump());
            const NamedJournal& any = journals.front();
            if (any.text.header.at("sha256") != now.at("sha256")) {
              refuse(
                  any.path,
                  "was written for other contents of the files, expected those that they have now");
            }
            take_answers(journals, questions);
            return true;
          }};
}

/// What the answers of all commands have.
Answer common_part(const Answer& answer) { return answer; }

}  // namespace

Answer merge(const MergeRequest& request, const Options& options) {
  try {
    const std::vector<NamedJournal> journals = read_journals(request.journals);
    const std::string command = journals.front().text.header.at("command");
    if (command == "prove") return common_part(merge_proofs(journals, options));
    const nlohmann::ordered_json& header = journals.front().text.header;
    const CampaignRun run = run_of(journals);
    if (command == "check") {
      return common_part(check(journaled_check(header), options, &run));
    }
    if (command == "synth") {
      return common_part(synthesize(journaled_synthesis(header), options, &run));
    }
    if (command == "cost") {
      return common_part(cost(journaled_cost(header), options, &run));
    }
    refuse(journals.front().path,
           fmt::format("is of '{}', expected prove, check, synth or cost", command));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(
        {request.journals.front()},
        fmt::format("or another one is not a journal of this version ({}), expected one "
                    "that --resume has written",
                    error.what()));
  }
}

}  // namespace p2
