// Records of real runs: judged like brute force on random pipeline schedules and transfer plans.

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/command.h"
#include "engine/records/record.h"
#include "p2/error.h"
#include "tests/cli/temporary_file.h"

namespace p2::records {
namespace {

std::string rule_of(const RecordDecision& decision) {
  return decision.violation ? decision.violation->rule : "";
}

std::string schedule_rule(const std::string& text) {
  return rule_of(check_pipeline_csv({"schedule.csv", text}, {}));
}

/// An action of compute: kind, stage, microbatch.
struct Action {
  char kind = 'F';
  int stage = 0;
  int microbatch = 0;
  auto operator<=>(const Action&) const = default;
};

using Rows = std::vector<std::vector<Action>>;

std::string csv_of(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text +=
          fmt::format("{}{}{}{}", i == 0 ? "" : ",", row[i].stage, row[i].kind, row[i].microbatch);
    }
    text += "\n";
  }
  return text;
}

/// Runs the rows by hand: whether all actions run.
bool completes(const Rows& rows, int stages) {
  std::set<Action> done;
  std::vector<std::size_t> next(rows.size());
  const auto ready = [&](const Action& action) {
    const auto& [kind, stage, microbatch] = action;
    if (kind == 'F') return stage == 0 || done.contains({'F', stage - 1, microbatch});
    return done.contains({'F', stage, microbatch}) &&
           (stage + 1 == stages || done.contains({'B', stage + 1, microbatch}));
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      while (next[rank] < rows[rank].size() && ready(rows[rank][next[rank]])) {
        done.insert(rows[rank][next[rank]++]);
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (next[rank] < rows[rank].size()) return false;
  }
  return true;
}

TEST_CASE("random orders of a pipeline complete exactly if they do when they are run") {
  std::mt19937 random(7);
  int completed = 0;
  int stopped = 0;
  for (int round = 0; round < 4000; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 3);
    const int stages = ranks * (1 + static_cast<int>(random() % 2));
    const int microbatches = 1 + static_cast<int>(random() % 3);
    Rows rows(static_cast<std::size_t>(ranks));
    for (int stage = 0; stage < stages; ++stage) {
      for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
        for (const char kind : {'F', 'B'}) {
          rows[static_cast<std::size_t>(stage % ranks)].push_back({kind, stage, microbatch});
        }
      }
    }
    for (auto& row : rows) {
      std::ranges::sort(row, [](const Action& a, const Action& b) {
        const auto key = [](const Action& each) {
          const int place = each.kind == 'F' ? each.stage : 100 - each.stage;
          return std::pair(place, each.microbatch);
        };
        return key(a) < key(b);
      });
      const std::size_t swaps = random() % 3;
      for (std::size_t i = 0; i < swaps; ++i) {
        std::swap(row[random() % row.size()], row[random() % row.size()]);
      }
    }
    const std::string rule = schedule_rule(csv_of(rows));
    CAPTURE(csv_of(rows));
    if (completes(rows, stages)) {
      ++completed;
      CHECK(rule == "");
    } else {
      ++stopped;
      CHECK((rule == "deadlock" || rule == "order"));
    }
  }
  CHECK(completed > 500);
  CHECK(stopped > 500);
}

TEST_CASE("messages have to meet") {
  const std::string sender = "0F0,0SEND_F0,0RECV_B0,0B0\n";
  CHECK(schedule_rule(sender + "1RECV_F0,1F0,1B0,1SEND_B0\n") == "");
  CHECK(schedule_rule(sender + "1RECV_F0,1F0,1B0\n") == "missing-send");
  CHECK(schedule_rule(sender + "1F0,1B0,1SEND_B0\n") == "missing-receive");
  CHECK(schedule_rule("0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") == "p2p-order");
  CHECK(schedule_rule("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") == "order");
  CHECK(schedule_rule("0F0,0B0\n1F0,1B0\n0F1,0B1,1F1,1B1\n") == "stage-placement");
  CHECK(schedule_rule("0F0,0F0,0B0\n") == "duplicate-work");
  CHECK(schedule_rule("0F0,0B0,0W0\n") == "duplicate-work");
  CHECK(schedule_rule("0F0,0I0\n") == "missing-work");
  CHECK(schedule_rule("0F0,0I0,0W0\n") == "");
  CHECK(schedule_rule("0F0,(0I0;0W0)OVERLAP_F_B\n") == "");
}

TEST_CASE("schedules that are none name line and column") {
  try {
    check_pipeline_csv({"a.csv", "0F0,0B0\n1F0,1G0\n"}, {});
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.where() == SourcePosition{"a.csv", 2, 5});
  }
  CHECK_FALSE(is_pipeline_csv("time,link\n1,2\n"));
  CHECK(is_pipeline_csv(",,0F0\n"));
}

TEST_CASE("random transfer plans arrive exactly if every element does once") {
  std::mt19937 random(11);
  std::map<std::string, int> seen;
  for (int round = 0; round < 4000; ++round) {
    // A tensor of 8 elements: rank 0 holds 0:4, rank 1 the rest; ranks 2 and 3 need random parts.
    const auto range = [&](int low, int high) {
      const int begin = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
      return std::pair(
          begin, begin + 1 + static_cast<int>(random() % static_cast<unsigned>(high - begin)));
    };
    struct Sent {
      int from, to, begin, end;
    };
    std::vector<Sent> sent;
    std::map<int, std::pair<int, int>> needed;
    std::string destination;
    for (const int rank : {2, 3}) {
      needed[rank] = range(0, 8);
      const auto [begin, end] = needed[rank];
      for (int at = begin; at < end;) {
        const int until = std::min(end, at < 4 ? 4 : 8);
        const int stop = at + 1 + static_cast<int>(random() % static_cast<unsigned>(until - at));
        sent.push_back({at < 4 ? 0 : 1, rank, at, stop});
        at = stop;
      }
      destination += fmt::format("{}{{\"rank\": {}, \"box\": [[{}, {}]]}}", rank == 2 ? "" : ", ",
                                 rank, begin, end);
    }
    if (random() % 2 == 0) {
      Sent& wrong = sent[random() % sent.size()];
      (random() % 2 == 0 ? wrong.begin : wrong.end) += random() % 2 == 0 ? 1 : -1;
    }
    std::map<std::pair<int, int>, int> arrivals;
    bool right = true;
    std::string transfers;
    for (const Sent& each : sent) {
      const auto [begin, end] = needed[each.to];
      right = right && each.begin < each.end && each.begin >= (each.from == 0 ? 0 : 4) &&
              each.end <= (each.from == 0 ? 4 : 8) && each.begin >= begin && each.end <= end;
      for (int at = each.begin; at < each.end; ++at) ++arrivals[{each.to, at}];
      transfers +=
          fmt::format("{}{{\"tensor\": \"w\", \"from\": {}, \"to\": {}, \"box\": [[{}, {}]]}}",
                      transfers.empty() ? "" : ", ", each.from, each.to, each.begin, each.end);
    }
    for (const auto& [rank, part] : needed) {
      for (int at = part.first; at < part.second; ++at) right = right && arrivals[{rank, at}] == 1;
    }
    const std::string text = fmt::format(
        R"({{"format": "transfer-plan/1", "tensors": {{"w": {{"shape": [8], "source": [)"
        R"({{"rank": 0, "box": [[0, 4]]}}, {{"rank": 1, "box": [[4, 8]]}}], "destination": [{}]}}}},)"
        R"( "transfers": [{}]}})",
        destination, transfers);
    CAPTURE(text);
    const std::string rule = rule_of(check_transfers({"plan.json", text}, {}));
    CHECK((rule == "") == right);
    ++seen[rule];
  }
  for (const char* rule : {"", "bounds", "source", "destination", "twice", "missing"}) {
    CAPTURE(rule);
    CHECK(seen[rule] > 10);
  }
}

std::string run_check(const std::vector<std::string>& arguments, int expected) {
  std::ostringstream out;
  std::ostringstream err;
  std::vector<std::string> words = {"check"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  CHECK(dispatch(words, out, err) == expected);
  return out.str() + err.str();
}

TEST_CASE("the command line reads records like everything else") {
  const std::string folder = P2_SOURCE_DIR "/examples/records/";
  run_check({folder + "1f1b.csv", folder + "weights.json", folder + "flight/*.json"}, 0);
  const std::string text = run_check({folder + "refused/flight/*.json"}, 1);
  CHECK(text.find("mismatched-collective") != std::string::npos);
  CHECK(text.find("train.py:44 (step)") != std::string::npos);
  // The frames of a pickle begin with PyTorch's own.
  const TemporaryFile dump(
      R"({"version":"2.10","rank":0,"pg_config":{"0":{"ranks":"[0, 1]"}},"entries":[{"process_group":["0","x"],
"collective_seq_id":1,"is_p2p":false,"profiling_name":"gloo:all_reduce","input_sizes":[[4]],"state":"scheduled","frames":[
{"filename":"/site-packages/torch/distributed/distributed_c10d.py","line":4049,"name":"all_reduce"},
{"filename":"train.py","line":7,"name":"step"}]}]})",
      ".json");
  const TemporaryFile other(
      R"({"version":"2.10","rank":1,"pg_config":{"0":{"ranks":"[0, 1]"}},"entries":[{"process_group":["0","x"],
"collective_seq_id":1,"is_p2p":false,"profiling_name":"gloo:broadcast","input_sizes":[[4]],"state":"scheduled"}]})",
      ".json");
  const std::string named = run_check({dump.path(), other.path()}, 1);
  CHECK(named.find("train.py:7 (step)") != std::string::npos);
  const std::string sarif = run_check({folder + "refused/*.csv", "--format", "sarif"}, 1);
  CHECK(sarif.find("pipeline-schedule/p2p-order") != std::string::npos);
  CHECK(sarif.find("docs/records.md") != std::string::npos);
  run_check({folder + "1f1b.csv", "--engine", "cnf"}, 2);
}

}  // namespace
}  // namespace p2::records
