#include "proofs/claims/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include <nlohmann/json.hpp>

#include "p2/error.h"

namespace p2::claims {
namespace {

using Json = nlohmann::ordered_json;

Json to_line(const Answer& answer) {
  return {{"verdict", std::string(to_string(answer.verdict))},
          {"settled", answer.settled},
          {"program", answer.program},
          {"steps", answer.steps},
          {"note", answer.note}};
}

Answer from_line(const Json& line) {
  Answer answer;
  const auto verdict = verdict_called(line.at("verdict").get<std::string>());
  answer.verdict = verdict.value_or(Outcome::Undecided);
  answer.settled = line.at("settled").get<std::uint32_t>();
  answer.program = line.at("program").get<std::string>();
  answer.steps = line.at("steps").get<std::size_t>();
  answer.note = line.at("note").get<std::string>();
  return answer;
}

}  // namespace

Journal::Lock::Lock(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) {
    throw InputError({path}, "cannot be written, expected a path in a writable folder");
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw InputError({path},
                     "is in use by another campaign, expected a journal for this one alone");
  }
}

Journal::Lock::~Lock() { ::close(file_); }

Journal::Journal(const std::string& path, const std::string& title) : path_(path), lock_(path) {
  std::ifstream written(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  if (!written) throw InputError({path}, "cannot be read, expected a journal of prove --resume");
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  read(text.substr(0, whole), title);
  std::error_code failure;
  if (whole < text.size()) std::filesystem::resize_file(path, whole, failure);
  file_.open(path, std::ios::binary | std::ios::app);
  if (!file_ || failure) {
    throw InputError({path}, "cannot be written, expected a path in a writable folder");
  }
  if (whole == 0) write(Json{{"journal", title}}.dump());
}

void Journal::read(const std::string& text, const std::string& title) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    try {
      const Json line = Json::parse(text.substr(begin, end - begin));
      if (number++ == 0) {
        if (line.at("journal").get<std::string>() != title) {
          throw InputError({path_},
                           "is the journal of other claims, systems or sizes, expected "
                           "those of this command or a new file");
        }
      } else {
        std::vector<Answer> answers;
        for (const Json& answer : line.at("answers")) answers.push_back(from_line(answer));
        known_[line.at("search").get<std::size_t>()] = std::move(answers);
      }
    } catch (const nlohmann::json::exception&) {
      throw InputError({path_, number + 1, 1},
                       "is no line of a journal, expected a file that "
                       "prove --resume has written");
    }
    begin = end + 1;
  }
}

void Journal::append(std::size_t search, const std::vector<Answer>& answers,
                     const std::vector<std::string>& orders) {
  Json line{{"search", search}, {"answers", Json::array()}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    line["answers"].push_back(to_line(answers[i]));
    if (!orders[i].empty()) line["answers"].back()["rows_reduced"] = orders[i];
  }
  const std::lock_guard lock(mutex_);
  write(line.dump());
}

void Journal::write(const std::string& line) {
  file_ << line + "\n" << std::flush;
  if (!file_) throw InputError({path_}, "could not be written, expected room for the journal");
}

}  // namespace p2::claims
