#include "proofs/kernel/input.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
namespace {

[[noreturn]] void unexpected(const Json& value, const std::string& expected) {
  malformed(value.dump(-1, ' ', true).substr(0, 60) + " is not " + expected);
}

}  // namespace

Json parse_json(const Files& files, const std::string& name) {
  constexpr int kDeepest = 8;
  std::vector<std::set<std::string>> keys(kDeepest + 2);  // of the objects that are open, by depth
  const auto watch = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth > kDeepest) malformed(name + ": nested too deeply");
    const auto at = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) keys[at + 1].clear();
    if (event == Json::parse_event_t::key && !keys[at].insert(value.get<std::string>()).second) {
      malformed(name + ": duplicate key");
    }
    return true;
  };
  const std::string& bytes = files.at(name);
  if (bytes.size() > kLargestJson) malformed(name + " is too large");
  try {
    return Json::parse(bytes, watch);
  } catch (const Json::exception&) {
    malformed(name + " is not JSON");
  }
}

void expect_keys(const Json& value, const std::vector<std::string>& keys) {
  const auto has = [&](const std::string& key) { return value.contains(key); };
  if (value.is_object() && value.size() == keys.size() && std::ranges::all_of(keys, has)) return;
  unexpected(value, "an object with the keys " + Json(keys).dump());
}

const List& as_list(const Json& value) {
  if (!value.is_array()) unexpected(value, "a list");
  return value.get_ref<const List&>();
}

const std::string& as_text(const Json& value) {
  if (!value.is_string()) unexpected(value, "a text");
  return value.get_ref<const std::string&>();
}

std::uint32_t as_number(const Json& value, std::uint64_t end) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    unexpected(value, "a number below " + std::to_string(end));
  }
  return value.get<std::uint32_t>();
}

Numbers as_numbers(const Json& value, std::uint64_t end) {
  Numbers all;
  for (const Json& item : as_list(value)) all.push_back(as_number(item, end));
  return all;
}

Numbers as_ascending(const Json& value, std::uint64_t end) {
  Numbers all = as_numbers(value, end);
  if (all.empty() || !std::ranges::is_sorted(all, std::less_equal<>())) {
    unexpected(value, "an ascending list of numbers");
  }
  return all;
}

}  // namespace p2::kernel
