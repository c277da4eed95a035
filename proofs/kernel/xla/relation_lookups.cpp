// Laws of gathers and scatters, and of where dynamic slices begin.

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

struct Listed {
  Form form;
  std::int64_t count = 1;  ///< of indices
};
/// A gather or scatter at a list of indices, for one at single indices of windows that are the last
/// dimensions of `sizes`, those of what is gathered or of the updates. Nothing for any other, and
/// where it is at a list already.
std::optional<Listed> listed(const Form& form, const Index& sizes, const Index& indices) {
  const Index& windows = form.numbers[0];
  const std::size_t batches = sizes.size() - windows.size();
  const bool are_last = std::ranges::all_of(
      windows, [&](std::int64_t each) { return static_cast<std::size_t>(each) >= batches; });
  const bool is_listed = indices.size() == 1 && form.numbers[5][0] == 1;
  if (form.numbers[2].size() != 1 || !form.numbers[3].empty() || is_listed || !are_last)
    return std::nullopt;
  Listed result{form};
  for (std::size_t i = 0; i < batches; ++i) {
    if (sizes[i] > (std::int64_t{1} << 40U) / result.count) return std::nullopt;
    result.count *= sizes[i];
  }
  std::iota(result.form.numbers[0].begin(), result.form.numbers[0].end(), 1);
  result.form.numbers[5] = {1};
  return result;
}

}  // namespace

/// An update by what a scalar chooses, one of which is what was there, is the choice between the
/// updated tensor and the one before.
std::optional<std::size_t> Tensors::choice_of_update(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  if (form.opcode != "dynamic-update-slice") return std::nullopt;
  const Moved update = moved(operands[1]);
  const Tensor& choice = at(update.base);
  if (choice.form.opcode != "select") return std::nullopt;
  const Tensor& where = at(choice.operands[0]);
  if (where.form.opcode != "broadcast" || !where.form.numbers[0].empty()) return std::nullopt;
  std::vector<std::size_t> slice = operands;
  slice.erase(slice.begin() + 1);
  const auto old = make({"dynamic-slice", "", {at(operands[1]).sizes}}, std::move(slice), kind);
  std::vector<std::optional<std::size_t>> chosen;
  for (std::size_t k = 1; k < 3; ++k)
    chosen.push_back(make_moved_as(choice.operands[k], update.dimensions));
  if (!old || !chosen[0] || !chosen[1] || (chosen[0] == old) == (chosen[1] == old))
    return std::nullopt;
  const std::size_t own = chosen[0] == old ? 1 : 0;
  std::vector<std::size_t> updated = operands;
  updated[1] = *chosen[own];
  const auto whole = make(form, std::move(updated), kind);
  const auto all = splat(where.operands[0], Index(at(operands[0]).sizes));
  if (!whole || !all) return std::nullopt;
  return own == 0 ? make({"select", "", {}}, {*all, *whole, operands[0]}, kind)
                  : make({"select", "", {}}, {*all, operands[0], *whole}, kind);
}

/// Starts of a dynamic slice, or update, that are known are numbers of s32 that need not be
/// clamped; one start that is possible is 0.
std::optional<std::size_t> Tensors::with_plain_starts(const Form& form,
                                                      const std::vector<std::size_t>& operands,
                                                      const std::string& kind) {
  const bool is_update = form.opcode == "dynamic-update-slice";
  const std::size_t first = is_update ? 2 : 1;
  const Index whole = at(operands[0]).sizes;
  const Index sizes = is_update ? at(operands[1]).sizes : form.numbers[0];
  const Type type = type_called("s32");
  std::vector<std::size_t> all = operands;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const std::int64_t most = whole[k] - sizes[k];
    const Tensor& start = at(operands[first + k]);
    Form plain{"numbers", "", {}};
    if (most == 0) {
      plain.numbers = {{0}};
    } else if (const auto value = integer(operands[first + k])) {
      plain.numbers = {{*value}};
    } else if (start.form.opcode == "numbers") {
      plain.numbers = start.form.numbers;
    }
    bool is_known = !plain.numbers.empty() && most <= INT32_MAX;
    for (Index& device : plain.numbers) {
      const auto clamped = start_of(device.at(0), type_called(start.kind), most);
      is_known = is_known && clamped;
      device[0] = clamped.value_or(0);
    }
    if (!is_known) continue;
    Numbering alike = numbered(plain.numbers);
    const bool is_one = std::count(alike.begin(), alike.end(), 0) == std::ssize(alike);
    all[first + k] =
        is_one ? scalar(std::to_string(plain.numbers[0][0]), type)
               : family(std::move(plain), {}, std::string(type.name), {}, std::move(alike));
  }
  return all == operands ? std::nullopt : make(form, std::move(all), kind);
}

/// A gather at single indices, of windows that are the last dimensions, is one at a list of
/// indices.
std::optional<std::size_t> Tensors::listed_gather(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  const Index indices = at(operands[1]).sizes;
  const Index sizes = sizes_of(form, {at(operands[0]).sizes, indices}).value();
  auto one = listed(form, sizes, indices);
  if (!one) return std::nullopt;
  const auto list = make({"reshape", "", {{one->count}}}, {operands[1]}, at(operands[1]).kind);
  const auto gathered = list ? make(one->form, {operands[0], *list}, kind) : std::nullopt;
  return gathered ? make({"reshape", "", {sizes}}, {*gathered}, kind) : std::nullopt;
}

/// Likewise a scatter, whose updates are listed, too.
std::optional<std::size_t> Tensors::listed_scatter(const Form& form,
                                                   const std::vector<std::size_t>& operands,
                                                   const std::string& kind) {
  const Index sizes = at(operands[2]).sizes;
  const Index indices = at(operands[1]).sizes;
  const std::int64_t vector = form.numbers[5][0];
  const bool is_last =
      vector == std::ssize(indices) || (vector + 1 == std::ssize(indices) && indices.back() == 1);
  auto one = is_last ? listed(form, sizes, indices) : std::nullopt;
  if (!one) return std::nullopt;
  Index own(sizes.end() - std::ssize(form.numbers[0]), sizes.end());
  own.insert(own.begin(), one->count);
  const auto list = make({"reshape", "", {{one->count}}}, {operands[1]}, at(operands[1]).kind);
  const auto updates = make({"reshape", "", {own}}, {operands[2]}, kind);
  return list && updates ? make(one->form, {operands[0], *list, *updates}, kind) : std::nullopt;
}

/// A window that has all along the dimensions that are looked up is at index 0 there, which indices
/// are clamped to: every window is the same.
std::optional<std::size_t> Tensors::gather_of_all(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  const Index from = at(operands[0]).sizes;
  const Index slices = form.numbers[6];
  if (!form.numbers[3].empty() || !std::ranges::all_of(form.numbers[2], [&](std::int64_t each) {
        return element_of(slices, each) == element_of(from, each);
      }))
    return std::nullopt;
  const Index sizes = sizes_of(form, {from, at(operands[1]).sizes}).value();
  Index window;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!contains(form.numbers[1], i)) window.push_back(slices[i]);
  }
  auto all = make({"slice", "", {Index(from.size(), 0), slices, Index(from.size(), 1)}},
                  {operands[0]}, kind);
  if (all) all = make({"reshape", "", {window}}, {*all}, kind);
  return all ? make({"broadcast", "", {form.numbers[0], sizes}}, {*all}, kind) : std::nullopt;
}

std::size_t Tensors::zeros_of(const std::string& kind, const Index& sizes) {
  return splat(scalar("0", type_called(kind == "float" ? "f32" : kind)), sizes).value();
}

/// What updates are added to is added to their sums.
std::optional<std::size_t> Tensors::scatter_into_zero(const Form& form,
                                                      const std::vector<std::size_t>& operands,
                                                      const std::string& kind) {
  if (is_zero(operands[0])) return std::nullopt;
  const auto zeros = zeros_of(kind, at(operands[0]).sizes);
  const auto sums = make(form, {zeros, operands[1], operands[2]}, kind);
  return sums ? make({"add", "", {}}, {operands[0], *sums}, kind) : std::nullopt;
}

/// Updates that are all of what they are added to are summed up.
std::optional<std::size_t> Tensors::scatter_of_all(const Form& form,
                                                   const std::vector<std::size_t>& operands,
                                                   const std::string& kind) {
  const Index to = at(operands[0]).sizes;
  const Index sizes = at(operands[2]).sizes;
  const Index& windows = form.numbers[0];
  if (!form.numbers[3].empty() || integer(operands[1]) != 0) return std::nullopt;
  for (std::size_t i = 0, window = 0; i < to.size(); ++i) {
    const bool is_dropped = contains(form.numbers[1], i);
    if (to[i] != (is_dropped ? 1 : element_of(sizes, windows.at(window++)))) return std::nullopt;
  }
  Index others;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!contains(windows, i)) others.push_back(static_cast<std::int64_t>(i));
  }
  const auto sum = make({"reduce", form.text, {others}}, {operands[2], zeros_of(kind, {})}, kind);
  return sum ? make({"reshape", "", {to}}, {*sum}, kind) : std::nullopt;
}

std::optional<std::size_t> Tensors::simple_gather(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  if (const auto all = gather_of_all(form, operands, kind)) return all;
  if (form.numbers[2].size() == 1) {
    // A gather clamps its indices by itself.
    const Moved moved = this->moved(operands[1]);
    const Tensor& indices = at(moved.base);
    const std::int64_t most = element_of(at(operands[0]).sizes, form.numbers[2][0]) -
                              element_of(form.numbers[6], form.numbers[2][0]);
    if (indices.form.opcode == "clamp" && integer(indices.operands[0]) == 0 &&
        integer(indices.operands[2]) == most) {
      const auto free = make_moved_as(indices.operands[1], moved.dimensions);
      return free ? make(form, {operands[0], *free}, kind) : std::nullopt;
    }
  }
  return listed_gather(form, operands, kind);
}

std::optional<std::size_t> Tensors::simple_scatter(const Form& form,
                                                   const std::vector<std::size_t>& operands,
                                                   const std::string& kind) {
  if (const auto list = listed_scatter(form, operands, kind)) return list;
  if (form.text != "add" || (kind != "float" && !type_called(kind).is_integer()))
    return std::nullopt;
  if (const auto sums = scatter_into_zero(form, operands, kind)) return sums;
  return scatter_of_all(form, operands, kind);
}

}  // namespace p2::kernel::xla
