#include "p2/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMinPrefix = 3;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& ch : lower) {
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  }
  return lower;
}

/// The optimal string alignment distance: the Levenshtein distance with exchanges of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// The words of a list such as `a, b or c`.
std::vector<std::string_view> listed_words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view word = list.substr(0, end);
    if (!word.empty() && word != "or" && word != "one" && word != "of") words.push_back(word);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

}  // namespace

std::string suggestion(std::string_view word, std::string_view candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  const std::string typed = lower_case(word);
  std::string_view nearest;
  std::size_t least = kMaxWord;
  for (const std::string_view candidate : listed_words(candidates)) {
    const std::string known = lower_case(candidate);
    const bool goes_on = typed.size() >= kMinPrefix && known.starts_with(typed);
    const std::size_t distance = goes_on ? 1 : edit_distance(typed, known);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(typed.size(), known.size()) / 3);
    if (candidate == word || distance > allowed || distance >= known.size() || distance >= least)
      continue;
    nearest = candidate;
    least = distance;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string unknown_name(std::string_view name, std::string_view candidates) {
  return fmt::format("unknown '{}', expected {}{}", name, candidates, suggestion(name, candidates));
}

void refuse_flags(const std::string& where, std::string_view why,
                  std::initializer_list<std::pair<std::string_view, bool>> flags) {
  for (const auto& [name, given] : flags) {
    if (given) throw InputError({where}, fmt::format("{}, expected no --{}", why, name));
  }
}

}  // namespace p2
