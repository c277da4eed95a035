#include "proofs/kernel/input.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
Json parse_json(const Files& files, const std::string& name) {
  constexpr int kDeepest = 6;
  std::vector<std::set<std::string>> keys(kDeepest + 2);  // of the objects that are open, by depth
  const auto watch = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth > kDeepest) malformed(name + " is nested too deeply");
    const auto at = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) keys[at + 1].clear();
    if (event == Json::parse_event_t::key && !keys[at].insert(value.get<std::string>()).second) {
      malformed(name + " has a key twice in one object");
    }
    return true;
  };
  const std::string& text = files.at(name);
  if (text.size() > std::size_t{64} << 20U) malformed(name + " is too large");
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception&) {
    malformed(name + " is not JSON");
  }
}

void expect_object(const Json& value, const std::string& what,
                   const std::vector<std::string>& keys) {
  if (!value.is_object()) malformed(what + " is not an object");
  for (const std::string& key : keys) {
    if (!value.contains(key)) malformed(what + " lacks key " + key);
  }
  if (value.size() != keys.size()) malformed(what + " has a key too many");
}

const Json& expect_array(const Json& value, const std::string& what) {
  if (!value.is_array()) malformed(what + " is not a list");
  return value;
}

const std::string& expect_text(const Json& value, const std::string& what) {
  if (!value.is_string()) malformed(what + " is not a text");
  return value.get_ref<const std::string&>();
}

std::uint32_t expect_number(const Json& value, const std::string& what, std::uint64_t end) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    malformed(what + " is not a number below " + std::to_string(end));
  }
  return value.get<std::uint32_t>();
}

Numbers expect_numbers(const Json& value, const std::string& what, std::uint64_t end) {
  Numbers numbers;
  for (const Json& item : expect_array(value, what)) {
    numbers.push_back(expect_number(item, what, end));
  }
  return numbers;
}

Numbers expect_ascending(const Json& value, const std::string& what, std::uint64_t end) {
  Numbers numbers = expect_numbers(value, what, end);
  if (numbers.empty() || !std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>())) {
    malformed(what + " is empty or does not ascend");
  }
  return numbers;
}

}  // namespace p2::kernel
