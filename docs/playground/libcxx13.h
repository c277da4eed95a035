#pragma once

// What this project uses of C++20 and the libc++ 13 of Debian's emscripten lacks: algorithms over
// ranges, three-way comparison of containers, bit_cast, reading of floating-point numbers; and
// async without threads.
// Included before every source of the playground (-include); nothing else includes it.

#include <version>
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace std {

template <typename To, typename From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format = chars_format::general) {
  // The text may go on with characters that strtod takes and from_chars does not.
  std::size_t length = 0;
  const std::string_view text(first, static_cast<std::size_t>(last - first));
  while (length < text.size() &&
         std::string_view("0123456789+-.eE").find(text[length]) != std::string_view::npos) {
    ++length;
  }
  if (length == 0 || *first == '+') return {first, errc::invalid_argument};
  const std::string copy(text.substr(0, length));
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return {first, errc::invalid_argument};
  const char* const stopped = first + (end - copy.c_str());
  if (errno == ERANGE) return {stopped, errc::result_out_of_range};
  value = read;
  return {stopped, errc{}};
}

template <typename Array>
unique_ptr<Array> make_unique_for_overwrite(size_t size) {
  return unique_ptr<Array>(new remove_extent_t<Array>[size]);
}

class jthread : public thread {
 public:
  using thread::thread;
  jthread(jthread&&) = default;
  ~jthread() {
    if (joinable()) join();
  }
};

/// The playground has one thread: what runs at the same time elsewhere runs at once here. The async
/// of the library would wait for a thread that never starts.
template <typename Function>
auto async(launch, Function&& function) {
  promise<decltype(function())> made;
  try {
    made.set_value(function());
  } catch (...) {
    made.set_exception(current_exception());
  }
  return made.get_future();
}

/// The order of two values: by <=> where there is one, else by <.
template <typename T>
constexpr auto three_way(const T& a, const T& b) {
  if constexpr (requires { a <=> b; }) {
    return a <=> b;
  } else {
    return a < b ? weak_ordering::less : b < a ? weak_ordering::greater : weak_ordering::equivalent;
  }
}

template <typename Range>
constexpr auto lexicographic(const Range& a, const Range& b) {
  using Order = decltype(three_way(*a.begin(), *b.begin()));
  auto at = a.begin();
  auto other = b.begin();
  for (; at != a.end() && other != b.end(); ++at, ++other) {
    if (const Order order = three_way(*at, *other); order != 0) return order;
  }
  return Order(a.size() <=> b.size());
}

inline strong_ordering operator<=>(const string& a, const string& b) { return a.compare(b) <=> 0; }
constexpr strong_ordering operator<=>(string_view a, string_view b) { return a.compare(b) <=> 0; }
template <typename T, typename A>
constexpr auto operator<=>(const vector<T, A>& a, const vector<T, A>& b) {
  return lexicographic(a, b);
}
template <typename T, size_t N>
constexpr auto operator<=>(const array<T, N>& a, const array<T, N>& b) {
  return lexicographic(a, b);
}
template <typename A, typename B>
constexpr auto operator<=>(const pair<A, B>& a, const pair<A, B>& b) {
  using Order = common_comparison_category_t<decltype(three_way(a.first, b.first)),
                                             decltype(three_way(a.second, b.second))>;
  if (const Order order = three_way(a.first, b.first); order != 0) return order;
  return Order(three_way(a.second, b.second));
}
template <typename T>
constexpr auto operator<=>(const optional<T>& a, const optional<T>& b) {
  using Order = decltype(three_way(*a, *b));
  return a && b ? three_way(*a, *b) : Order(a.has_value() <=> b.has_value());
}

namespace ranges {

template <typename R>
concept Sequence = requires(R& r) { std::begin(r); };

template <typename Compare, typename Projection>
constexpr auto projected_compare(Compare& compare, Projection& projection) {
  return [&](const auto& a, const auto& b) -> bool {
    return std::invoke(compare, std::invoke(projection, a), std::invoke(projection, b));
  };
}
template <typename Predicate, typename Projection>
constexpr auto projected_test(Predicate& predicate, Projection& projection) {
  return [&](auto&& a) -> bool { return std::invoke(predicate, std::invoke(projection, a)); };
}

#define P2_TEST_OF_RANGE(name)                                                   \
  template <Sequence R, typename Predicate, typename Projection = identity>      \
  constexpr auto name(R&& r, Predicate predicate, Projection projection = {}) {  \
    return std::name(std::begin(r), std::end(r), projected_test(predicate, projection)); \
  }
P2_TEST_OF_RANGE(all_of)
P2_TEST_OF_RANGE(any_of)
P2_TEST_OF_RANGE(none_of)
P2_TEST_OF_RANGE(find_if)
P2_TEST_OF_RANGE(count_if)
#undef P2_TEST_OF_RANGE

template <Sequence R, typename T, typename Projection = identity>
constexpr auto find(R&& r, const T& value, Projection projection = {}) {
  return std::find_if(std::begin(r), std::end(r), [&](auto&& each) -> bool {
    return std::invoke(projection, each) == value;
  });
}
template <Sequence R, typename T, typename Projection = identity>
constexpr auto count(R&& r, const T& value, Projection projection = {}) {
  return std::count_if(std::begin(r), std::end(r), [&](auto&& each) -> bool {
    return std::invoke(projection, each) == value;
  });
}

#define P2_ORDER_OF_RANGE(name)                                                            \
  template <Sequence R, typename Compare = ranges::less, typename Projection = identity>   \
  constexpr auto name(R&& r, Compare compare = {}, Projection projection = {}) {           \
    return std::name(std::begin(r), std::end(r), projected_compare(compare, projection));  \
  }
P2_ORDER_OF_RANGE(sort)
P2_ORDER_OF_RANGE(stable_sort)
P2_ORDER_OF_RANGE(is_sorted)
P2_ORDER_OF_RANGE(min_element)
P2_ORDER_OF_RANGE(max_element)
#undef P2_ORDER_OF_RANGE

template <Sequence R, typename Compare = ranges::equal_to, typename Projection = identity>
constexpr auto adjacent_find(R&& r, Compare compare = {}, Projection projection = {}) {
  return std::adjacent_find(std::begin(r), std::end(r), projected_compare(compare, projection));
}
template <Sequence R, typename Compare = ranges::less, typename Projection = identity>
constexpr auto max(R&& r, Compare compare = {}, Projection projection = {}) {
  return *ranges::max_element(r, compare, projection);
}
template <Sequence R, typename Compare = ranges::less, typename Projection = identity>
constexpr auto min(R&& r, Compare compare = {}, Projection projection = {}) {
  return *ranges::min_element(r, compare, projection);
}

template <typename I, typename T, typename Compare = ranges::less, typename Projection = identity>
  requires(!Sequence<I>)
constexpr I lower_bound(I first, I last, const T& value, Compare compare = {},
                        Projection projection = {}) {
  return std::lower_bound(first, last, value, [&](const auto& a, const T& b) -> bool {
    return std::invoke(compare, std::invoke(projection, a), b);
  });
}
template <Sequence R, typename T, typename Compare = ranges::less, typename Projection = identity>
constexpr auto lower_bound(R&& r, const T& value, Compare compare = {}, Projection projection = {}) {
  return ranges::lower_bound(std::begin(r), std::end(r), value, compare, projection);
}
template <Sequence R, typename T, typename Compare = ranges::less, typename Projection = identity>
constexpr bool binary_search(R&& r, const T& value, Compare compare = {},
                             Projection projection = {}) {
  const auto at = ranges::lower_bound(r, value, compare, projection);
  return at != std::end(r) && !std::invoke(compare, value, std::invoke(projection, *at));
}

template <Sequence A, Sequence B, typename Equal = ranges::equal_to>
constexpr bool equal(A&& a, B&& b, Equal same = {}) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b), same);
}
template <Sequence A, Sequence B>
constexpr bool includes(A&& a, B&& b) {
  return std::includes(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <Sequence A, Sequence B, typename Out>
constexpr Out set_union(A&& a, B&& b, Out out) {
  return std::set_union(std::begin(a), std::end(a), std::begin(b), std::end(b), out);
}
template <Sequence A, Sequence B, typename Out>
constexpr Out set_intersection(A&& a, B&& b, Out out) {
  return std::set_intersection(std::begin(a), std::end(a), std::begin(b), std::end(b), out);
}
template <Sequence R, typename T>
constexpr void fill(R&& r, const T& value) {
  std::fill(std::begin(r), std::end(r), value);
}
template <Sequence R, typename T>
constexpr void replace(R&& r, const T& old, const T& fresh) {
  std::replace(std::begin(r), std::end(r), old, fresh);
}
template <Sequence R>
constexpr void reverse(R&& r) {
  std::reverse(std::begin(r), std::end(r));
}
template <Sequence R, typename Out, typename Function>
constexpr Out transform(R&& r, Out out, Function function) {
  return std::transform(std::begin(r), std::end(r), out,
                        [&](auto&& each) { return std::invoke(function, each); });
}
template <Sequence R, typename Out, typename Predicate, typename Projection = identity>
constexpr Out copy_if(R&& r, Out out, Predicate predicate, Projection projection = {}) {
  return std::copy_if(std::begin(r), std::end(r), out, projected_test(predicate, projection));
}

/// The end of what was removed, as the standard's subrange has it.
template <typename I>
struct Removed {
  I first;
  I last;
  constexpr I begin() const { return first; }
  constexpr I end() const { return last; }
};
template <Sequence R, typename Equal = ranges::equal_to, typename Projection = identity>
constexpr auto unique(R&& r, Equal same = {}, Projection projection = {}) {
  const auto first =
      std::unique(std::begin(r), std::end(r), projected_compare(same, projection));
  return Removed<decltype(std::begin(r))>{first, std::end(r)};
}

}  // namespace ranges
}  // namespace std

#endif
