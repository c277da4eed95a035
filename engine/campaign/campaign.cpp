#include "engine/campaign/campaign.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "p2/error.h"
#include "p2/version.h"

namespace p2::campaign {
namespace {

using Line = nlohmann::ordered_json;

constexpr std::string_view kChecksumKey = R"(,"crc32c":")";
constexpr std::size_t kChecksumDigits = 8;
constexpr std::string_view kFirstBytes = R"({"journal":")";

/// CRC-32C (Castagnoli), reflected.
std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0);
      entries[i] = value;
    }
    return entries;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

/// A line of an object with members, without its closing brace.
std::string with_checksum(std::string members) {
  const std::uint32_t crc = crc32c(members);
  return fmt::format("{}{}{:08x}\"}}\n", members, kChecksumKey, crc);
}

/// The object of a line without its newline; nothing where the line is damaged.
std::optional<Line> parse_line(std::string_view line) {
  const std::size_t tail = kChecksumKey.size() + kChecksumDigits + 2;
  if (line.size() < tail) return std::nullopt;
  const std::string_view members = line.substr(0, line.size() - tail);
  if (with_checksum(std::string(members)) != std::string(line) + "\n") return std::nullopt;
  Line value = Line::parse(line, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

std::string header_line(const Json& header) {
  std::string members = header.dump();
  members.pop_back();
  return with_checksum(std::move(members));
}

InputError no_journal(const std::string& path, std::size_t line) {
  return {{path, line, 1}, "is not a line of a journal, expected a file that --resume has written"};
}

}  // namespace

Json journal_header(std::string_view command) {
  return Json::object()
      .add("journal", "p2-verify-journal/1")
      .add("version", build_info().version)
      .add("command", command);
}

Json with_shard(Json header, std::size_t questions, const CampaignPart& part) {
  return std::move(header)
      .add("questions", questions)
      .add("shard", fmt::format("{}/{}", part.shard, part.shards));
}

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

std::optional<std::string> optional_text(const Line& header, const char* key) {
  const Line& value = header.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

JournalText read_journal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw InputError({path}, "cannot be read, expected a journal of --resume");
  JournalText journal;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos || end + 1 == text.size();
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::optional<Line> value = end == std::string::npos ? std::nullopt : parse_line(line);
    if (!value) {
      // The beginning of a first line is recognised, so that no other file is ever truncated.
      const bool torn_header = line.size() < kFirstBytes.size() ? kFirstBytes.starts_with(line)
                                                                : line.starts_with(kFirstBytes);
      if (last && (number > 1 || (torn_header && end == std::string::npos))) break;
      throw no_journal(path, number);
    }
    try {
      if (number == 1) {
        if (!value->contains("journal")) throw no_journal(path, number);
        journal.header = *value;
        journal.header.erase("crc32c");
      } else {
        const auto question = value->at("question").get<std::size_t>();
        journal.answers[question] = value->at("answer");
        journal.seconds[question] = value->at("seconds").get<double>();
      }
    } catch (const nlohmann::json::exception&) {
      throw no_journal(path, number);
    }
    journal.whole_bytes = begin = end + 1;
  }
  return journal;
}

Journal::File::File(const std::string& path)
    : path_(path),
      descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    throw InputError({path}, "cannot be written, expected a path in a writable folder");
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    throw InputError({path},
                     "is in use by another campaign, expected a journal for this one alone");
  }
}

Journal::File::~File() { ::close(descriptor_); }

void Journal::File::truncate(std::size_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    throw InputError({path_}, "cannot be written, expected a regular file");
  }
}

void Journal::File::write(const std::string& line) {
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t part = ::write(descriptor_, line.data() + written, line.size() - written);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) {
      throw InputError({path_}, "could not be written, expected room for the journal");
    }
    written += static_cast<std::size_t>(part);
  }
}

Journal::Journal(const std::string& path, const Json& header)
    : file_(path), text_(read_journal(path)) {
  const std::string expected = header_line(header);
  if (text_.header.is_null()) {
    file_.truncate(0);
    file_.write(expected);
    return;
  }
  Line wanted = Line::parse(header.dump());
  if (text_.header != wanted) {
    std::string differs;
    for (const auto& [key, value] : wanted.items()) {
      if (differs.empty() && text_.header.value(key, Line()) != value) differs = key;
    }
    throw InputError({path},
                     fmt::format("is the journal of other questions ('{}' mismatch), expected "
                                 "that of this command or a new file",
                                 differs));
  }
  file_.truncate(text_.whole_bytes);
}

void Journal::append(std::size_t question, std::string_view answer, double seconds) {
  const std::string line = with_checksum(
      fmt::format(R"({{"question":{},"answer":{},"seconds":{:.6f})", question, answer, seconds));
  const std::lock_guard lock(mutex_);
  file_.write(line);
}

std::string to_string(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.count);
}

bool may_be_cut_short(const Limits& limits) {
  return limits.deadline || limits.memory_bytes || limits.work ||
         (limits.cancelled != nullptr && *limits.cancelled);
}

std::vector<std::uint32_t> shard_of_questions(const Questions& questions, std::uint32_t count) {
  std::vector<std::size_t> by_cost(questions.count());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::vector<double> costs(by_cost.size());
  for (const std::size_t question : by_cost) costs[question] = questions.expected_cost(question);
  std::ranges::stable_sort(by_cost,
                           [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Load = std::pair<double, std::uint32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::uint32_t shard = 1; shard <= count; ++shard) least.emplace(0.0, shard);
  std::vector<std::uint32_t> shards(by_cost.size());
  for (const std::size_t question : by_cost) {
    const auto [load, shard] = least.top();
    least.pop();
    shards[question] = shard;
    least.emplace(load + costs[question], shard);
  }
  return shards;
}

Collector::Collector(Questions& questions, const Shard& shard, Journal* journal, Counters* counters)
    : questions_(questions), journal_(journal), counters_(counters) {
  const auto shards = shard_of_questions(questions, shard.count);
  std::uint64_t known = 0;
  for (std::size_t question = 0; question < shards.size(); ++question) {
    if (shards[question] != shard.number) continue;
    const auto* answers = journal != nullptr ? &journal->answers() : nullptr;
    if (answers != nullptr && answers->contains(question)) {
      try {
        questions.record(question, answers->at(question));
      } catch (const nlohmann::json::exception&) {
        throw InputError({"--resume"}, fmt::format("the journal's answer to question {} is none, "
                                                   "expected one that --resume has written",
                                                   question));
      }
      ++known;
    } else {
      open_.push_back(question);
    }
  }
  if (counters != nullptr) {
    counters->questions = known + open_.size();
    counters->known = known;
  }
}

void Collector::deliver(std::size_t question, const Questions::Answer& answer, double seconds) {
  questions_.record(question, nlohmann::ordered_json::parse(answer.json));
  if (!answer.final) return;
  if (journal_ != nullptr) journal_->append(question, answer.json, seconds);
  if (counters_ != nullptr) ++counters_->done;
}

void run_on_threads(Questions& questions, Collector& collector, unsigned jobs,
                    const Limits& limits) {
  const unsigned threads = jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : jobs;
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(
      std::size_t{0}, collector.open().size(),
      [&](std::size_t i) {
        if (limits.cancelled != nullptr && *limits.cancelled) return;
        const auto start = std::chrono::steady_clock::now();
        const std::size_t question = collector.open()[i];
        const Questions::Answer answer = questions.ask(question, limits);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        collector.deliver(question, answer, taken.count());
      },
      tbb::simple_partitioner());
}

}  // namespace p2::campaign
