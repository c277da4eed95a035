#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {

/// Computations on elements, on f32[2,3] and on a loop's state.
inline const char* const kComputations = R"(
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
greater {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GT
}
first_of_two {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  e = f32[] add(a, c)
  f = f32[] add(b, d)
  ROOT g = (f32[], f32[]) tuple(e, f)
}
)";

inline std::string text_with(const std::string& computations, const std::string& entry) {
  std::string text = module_text(entry, 2);
  return text.insert(text.find("ENTRY"), kComputations + computations + "\n");
}

/// Two modules of the same operations on small tensors, of which the second is rewritten, with a
/// chance of a mistake at every step.
class RandomPair {
 public:
  RandomPair(std::uint32_t seed, int mistakes) : random_(seed), mistakes_(mistakes) {
    entry("i0 = s32[4] parameter(0)");
    entry("i1 = s32[] parameter(1)");
    entry("choice = pred[] parameter(2)");
    entry("zero = f32[] constant(0)");
    entry("start = s32[] constant(0)");
    const int inputs = 2 + below(2);
    for (int k = 0; k < inputs; ++k) {
      std::vector<std::int64_t> sizes;
      for (int d = 1 + below(3); d > 0; --d) sizes.push_back(2 + below(3));
      both(sizes, fmt::format("parameter({})", k + 3));
    }
    for (int steps = 2 + below(6); steps > 0; --steps) step();
    const Tensor& last = tensors_.back();
    const Tensor& other = pick();
    entry(fmt::format("ROOT out = ({}, {}) tuple({}, {})", shape(last.sizes), shape(other.sizes),
                      last.name, other.name));
  }

  std::string before() const { return text_with(computations_, before_); }
  std::string after() const { return text_with(computations_, after_); }
  bool has_mistake() const { return mistaken_; }

 private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> sizes;
  };

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  std::size_t at(std::size_t end) { return static_cast<std::size_t>(below(static_cast<int>(end))); }
  bool rewrites() { return below(2) == 0; }
  bool mistake() {
    const bool made = below(100) < mistakes_;
    mistaken_ = mistaken_ || made;
    return made;
  }
  static std::string shape(const std::vector<std::int64_t>& sizes, const char* type = "f32") {
    return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
  }
  const Tensor& pick() { return tensors_[at(tensors_.size())]; }
  void entry(const std::string& line) {
    before_ += "  " + line + "\n";
    after_ += "  " + line + "\n";
  }
  /// A line of the second module alone.
  std::string own(const std::vector<std::int64_t>& sizes, const std::string& text) {
    const std::string name = fmt::format("o{}", ++names_);
    after_ += fmt::format("  {} = {} {}\n", name, shape(sizes), text);
    return name;
  }
  std::string add(const std::vector<std::int64_t>& sizes, const std::string& before,
                  const std::string& after) {
    const std::string name = fmt::format("t{}", ++names_);
    before_ += fmt::format("  {} = {} {}\n", name, shape(sizes), before);
    after_ += fmt::format("  {} = {} {}\n", name, shape(sizes), after);
    tensors_.push_back({name, sizes});
    return name;
  }
  std::string both(const std::vector<std::int64_t>& sizes, const std::string& text) {
    return add(sizes, text, text);
  }
  static std::vector<std::int64_t> all_dimensions(std::size_t rank) {
    std::vector<std::int64_t> all;
    for (std::size_t d = 0; d < rank; ++d) all.push_back(static_cast<std::int64_t>(d));
    return all;
  }
  static std::string ranges(const std::vector<std::int64_t>& sizes, std::size_t along,
                            std::int64_t from, std::int64_t to) {
    std::vector<std::string> all;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      all.push_back(fmt::format("[{}:{}]", d == along ? from : 0, d == along ? to : sizes[d]));
    }
    return fmt::format("slice={{{}}}", fmt::join(all, ", "));
  }
  std::string reduced(const std::string& name, std::size_t along, const char* by) const {
    return fmt::format("reduce({}, zero), dimensions={{{}}}, to_apply={}", name, along, by);
  }
  std::string collective() {
    return fmt::format(", replica_groups={{{{0,1}}}}, channel_id={}, use_global_device_ids=true",
                       ++channels_);
  }

  void step() {
    const Tensor a = pick();
    const std::vector<std::int64_t>& sizes = a.sizes;
    const std::size_t rank = sizes.size();
    const std::size_t d = rank == 0 ? 0 : at(rank);
    const bool large = volume(sizes) > 100;
    const int kind = below(24);
    if (rank == 0 && kind > 2) return;
    switch (kind) {
      case 0: {
        const bool wrong = mistake();
        add(sizes, "negate(" + a.name + ")", (wrong ? "abs(" : "negate(") + a.name + ")");
        return;
      }
      case 1:
        return binary(a);
      case 2: {
        if (large) return;
        std::vector<std::int64_t> to = sizes;
        const std::size_t place = at(rank + 1);
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(place), 2 + below(3));
        std::vector<std::int64_t> dimensions = all_dimensions(rank + 1);
        dimensions.erase(dimensions.begin() + static_cast<std::ptrdiff_t>(place));
        const std::string text =
            fmt::format("broadcast({}), dimensions={{{}}}", a.name, fmt::join(dimensions, ","));
        if (mistake()) {
          const std::string wide = own(to, text);
          const std::string ramp = own(to, fmt::format("iota(), iota_dimension={}", place));
          add(to, text, fmt::format("add({}, {})", wide, ramp));
        } else {
          both(to, text);
        }
        return;
      }
      case 3: {
        std::vector<std::int64_t> order = all_dimensions(rank);
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<std::int64_t> to;
        for (const std::int64_t each : order) to.push_back(sizes[static_cast<std::size_t>(each)]);
        const std::string text =
            fmt::format("transpose({}), dimensions={{{}}}", a.name, fmt::join(order, ","));
        add(to, text, to == sizes && mistake() ? "copy(" + a.name + ")" : text);
        return;
      }
      case 4: {  // two dimensions become one
        if (rank < 2) return;
        const std::size_t first = at(rank - 1);
        std::vector<std::int64_t> to = sizes;
        to[first] *= to[first + 1];
        to.erase(to.begin() + static_cast<std::ptrdiff_t>(first) + 1);
        std::string from = a.name;
        if (mistake())
          from = own(sizes, fmt::format("reverse({}), dimensions={{{}}}", from, first));
        add(to, "reshape(" + a.name + ")", (rewrites() ? "bitcast(" : "reshape(") + from + ")");
        return;
      }
      case 5: {  // or one two
        if (sizes[d] != 4 && sizes[d] != 6) return;
        std::vector<std::int64_t> to = sizes;
        to[d] /= 2;
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(d) + (rewrites() ? 1 : 0), 2);
        std::string from = a.name;
        if (mistake()) from = own(sizes, fmt::format("reverse({}), dimensions={{{}}}", from, d));
        add(to, "reshape(" + a.name + ")", "reshape(" + from + ")");
        return;
      }
      case 6: {
        if (sizes[d] < 3) return;
        std::vector<std::int64_t> to = sizes;
        --to[d];
        const bool wrong = mistake();
        const bool moves = rewrites() && !wrong;
        std::vector<std::string> starts(rank, "start");
        const std::string text = "slice(" + a.name + "), ";
        add(to, text + ranges(sizes, d, 0, sizes[d] - 1),
            moves ? fmt::format("dynamic-slice({}, {}), dynamic_slice_sizes={{{}}}", a.name,
                                fmt::join(starts, ", "), fmt::join(to, ","))
                  : text + ranges(sizes, d, wrong ? 1 : 0, wrong ? sizes[d] : sizes[d] - 1));
        return;
      }
      case 7: {
        std::vector<std::int64_t> to = sizes;
        ++to[d];
        std::vector<std::int64_t> one = sizes;
        one[d] = 1;
        const auto text = [&](bool low) {
          std::vector<std::string> all;
          for (std::size_t k = 0; k < rank; ++k) {
            all.push_back(k != d ? "0_0" : low ? "1_0" : "0_1");
          }
          return fmt::format("pad({}, zero), padding={}", a.name, fmt::join(all, "x"));
        };
        const bool wrong = mistake();
        if (!wrong && rewrites()) {
          const std::string zeros = own(one, "broadcast(zero), dimensions={}");
          add(to, text(true),
              fmt::format("concatenate({}, {}), dimensions={{{}}}", zeros, a.name, d));
        } else {
          add(to, text(true), text(!wrong));
        }
        return;
      }
      case 8: {
        const std::string text = fmt::format("reverse({}), dimensions={{{}}}", a.name, d);
        add(sizes, text, mistake() ? "copy(" + a.name + ")" : text);
        return;
      }
      case 9: {
        std::vector<std::int64_t> to = sizes;
        to.erase(to.begin() + static_cast<std::ptrdiff_t>(d));
        const bool wrong = mistake();
        if (!wrong && rewrites()) {
          const std::string one = own({}, "constant(1)");
          const std::string ones =
              own({sizes[d]}, fmt::format("broadcast({}), dimensions={{}}", one));
          add(to, reduced(a.name, d, "add"),
              fmt::format("dot({}, {}), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{0}}",
                          a.name, ones, d));
        } else {
          add(to, reduced(a.name, d, "add"), reduced(a.name, d, wrong ? "maximum" : "add"));
        }
        return;
      }
      case 10:
        return dot(a);
      case 11: {  // times its index
        const std::string ramp = fmt::format("iota(), iota_dimension={}", d);
        const std::string name = fmt::format("t{}", ++names_);
        const bool wrong = mistake();
        const std::size_t along = wrong ? at(rank) : d;
        before_ += fmt::format("  {} = {} {}\n", name, shape(sizes), ramp);
        after_ += fmt::format("  {} = {} iota(), iota_dimension={}\n", name, shape(sizes), along);
        both(sizes, fmt::format("multiply({}, {})", a.name, name));
        return;
      }
      case 12: {  // with a constant that is uniform along some dimensions
        if (rank != 2) return;
        const bool rows = rewrites();
        const auto constant = [&](bool wrong) {
          std::vector<std::string> lines;
          for (std::int64_t i = 0; i < sizes[0]; ++i) {
            std::vector<std::int64_t> line;
            for (std::int64_t j = 0; j < sizes[1]; ++j) line.push_back(1 + (rows ? i : j));
            if (wrong && i == sizes[0] - 1) line.back() += 1;
            lines.push_back(fmt::format("{{{}}}", fmt::join(line, ",")));
          }
          return fmt::format("constant({{{}}})", fmt::join(lines, ","));
        };
        const std::string name = add(sizes, constant(false), constant(mistake()));
        both(sizes, fmt::format("add({}, {})", a.name, name));
        return;
      }
      case 13: {  // rows by number
        std::vector<std::int64_t> to = sizes;
        to[0] = 4;
        std::vector<std::int64_t> window = sizes;
        window[0] = 1;
        std::vector<std::int64_t> offsets = all_dimensions(rank);
        offsets.erase(offsets.begin());
        const auto text = [&](const std::string& from) {
          return fmt::format(
              "gather({}, i0), offset_dims={{{}}}, collapsed_slice_dims={{0}}, "
              "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{{}}}",
              from, fmt::join(offsets, ","), fmt::join(window, ","));
        };
        const std::string from = mistake() ? own(sizes, "negate(" + a.name + ")") : a.name;
        add(to, text(a.name), text(from));
        return;
      }
      case 14: {
        if (sizes[d] < 3) return;
        std::vector<std::int64_t> to = sizes;
        --to[d];
        std::vector<std::string> starts(rank, "i1");
        const auto text = [&] {
          return fmt::format("dynamic-slice({}, {}), dynamic_slice_sizes={{{}}}", a.name,
                             fmt::join(starts, ", "), fmt::join(to, ","));
        };
        const std::string right = text();
        if (mistake()) starts[d] = "start";
        add(to, right, text());
        return;
      }
      case 15: {
        if (sizes[d] < 3) return;
        std::vector<std::int64_t> part = sizes;
        --part[d];
        std::vector<std::string> starts(rank, "start");
        starts[d] = "i1";
        const std::string update =
            both(part, fmt::format("slice({}), {}", a.name, ranges(sizes, d, 1, sizes[d])));
        const auto text = [&](const std::string& of) {
          return fmt::format("dynamic-update-slice({}, {}, {})", a.name, of,
                             fmt::join(starts, ", "));
        };
        const std::string of = mistake() ? own(part, "negate(" + update + ")") : update;
        add(sizes, text(update), text(of));
        return;
      }
      case 16: {
        const auto text = [&](const std::string& from, const char* by) {
          return fmt::format("sort({}), dimensions={{{}}}, to_apply={}", from, d, by);
        };
        add(sizes, text(a.name, "less"), text(a.name, mistake() ? "greater" : "less"));
        return;
      }
      case 17: {
        const std::string right = "all-reduce(" + a.name + ")" + collective() + ", to_apply=add";
        if (!mistake() && rewrites()) {
          const std::string other = own(
              sizes, fmt::format("collective-permute({}), source_target_pairs={{{{0,1}},{{1,0}}}}, "
                                 "channel_id={}",
                                 a.name, ++channels_));
          add(sizes, right, fmt::format("add({}, {})", other, a.name));
        } else {
          add(sizes, right, mistaken_ && mistake() ? "copy(" + a.name + ")" : right);
        }
        return;
      }
      case 18: {
        if (large) return;
        std::vector<std::int64_t> to = sizes;
        to[d] *= 2;
        const std::string right =
            fmt::format("all-gather({}){}, dimensions={{{}}}", a.name, collective(), d);
        add(to, right,
            mistake() ? fmt::format("concatenate({0}, {0}), dimensions={{{1}}}", a.name, d)
                      : right);
        return;
      }
      case 19: {
        if (sizes[d] % 2 != 0) return;
        std::vector<std::int64_t> half = sizes;
        half[d] /= 2;
        both(half, fmt::format("reduce-scatter({}){}, dimensions={{{}}}, to_apply=add", a.name,
                               collective(), d));
        const std::size_t to = at(rank);
        const std::string text = fmt::format(
            "all-to-all({}), replica_groups={{{{0,1}}}}, channel_id={}", a.name, ++channels_);
        if (to == d) both(sizes, text + fmt::format(", dimensions={{{}}}", d));
        return;
      }
      case 20:
        return loop(a);
      case 21: {
        const std::string name = fmt::format("f{}", ++names_);
        const std::string by = fmt::format("g{}", names_);
        computations_ += fmt::format(
            "{0} {{\n  x = {2} parameter(0)\n  ROOT y = {2} negate(x)\n}}\n{1} {{\n  ROOT x = {2} "
            "parameter(0)\n}}\n",
            name, by, shape(sizes));
        const auto text = [&](bool swapped) {
          return fmt::format(
              "conditional(choice, {0}, {0}), true_computation={1}, "
              "false_computation={2}",
              a.name, swapped ? by : name, swapped ? name : by);
        };
        add(sizes, text(false), text(mistake()));
        return;
      }
      case 22: {
        std::vector<std::string> window;
        std::vector<std::string> padding;
        for (std::size_t k = 0; k < rank; ++k) {
          window.push_back(k == d ? "2" : "1");
          padding.push_back(k == d ? "1_0" : "0_0");
        }
        const auto text = [&](const char* by) {
          return fmt::format("reduce-window({}, zero), window={{size={} pad={}}}, to_apply={}",
                             a.name, fmt::join(window, "x"), fmt::join(padding, "x"), by);
        };
        add(sizes, text("add"), text(mistake() ? "maximum" : "add"));
        return;
      }
      default: {
        std::vector<std::int64_t> updates = sizes;
        updates[0] = 4;
        std::vector<std::int64_t> window = all_dimensions(rank);
        window.erase(window.begin());
        const std::string from = both(updates, "broadcast(zero), dimensions={}");
        const std::string ramp = both(updates, fmt::format("iota(), iota_dimension={}", at(rank)));
        const auto text = [&](const std::string& of) {
          return fmt::format(
              "scatter({}, i0, {}), update_window_dims={{{}}}, inserted_window_dims={{0}}, "
              "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add",
              a.name, of, fmt::join(window, ","));
        };
        add(sizes, text(ramp), text(mistake() ? from : ramp));
      }
    }
  }

  void binary(const Tensor& a) {
    std::vector<std::string> alike;
    for (const Tensor& each : tensors_) {
      if (each.sizes == a.sizes) alike.push_back(each.name);
    }
    const std::string b = alike[at(alike.size())];
    const bool wrong = mistake();
    const bool swaps = rewrites();
    add(a.sizes, fmt::format("add({}, {})", a.name, b),
        fmt::format("{}({}, {})", wrong ? "subtract" : "add", swaps ? b : a.name,
                    swaps ? a.name : b));
  }

  void dot(const Tensor& a) {
    const Tensor b = pick();
    if (a.sizes.size() + b.sizes.size() > 5 || a.sizes.empty() || b.sizes.empty()) return;
    const std::size_t l = at(a.sizes.size());
    const std::size_t r = at(b.sizes.size());
    if (a.sizes[l] != b.sizes[r]) return;
    const bool batch = below(3) == 0;
    std::vector<std::int64_t> left = a.sizes;
    std::vector<std::int64_t> right = b.sizes;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(l));
    right.erase(right.begin() + static_cast<std::ptrdiff_t>(r));
    std::vector<std::int64_t> to;
    if (batch) to.push_back(a.sizes[l]);
    to.insert(to.end(), left.begin(), left.end());
    to.insert(to.end(), right.begin(), right.end());
    if (volume(to) > 200) return;
    const char* const kind = batch ? "batch" : "contracting";
    const auto text = [&](const std::string& from) {
      return fmt::format("dot({0}, {1}), lhs_{2}_dims={{{3}}}, rhs_{2}_dims={{{4}}}", from, b.name,
                         kind, l, r);
    };
    const bool wrong = mistake();
    const std::string from =
        wrong ? own(a.sizes, fmt::format("reverse({}), dimensions={{{}}}", a.name, l)) : a.name;
    add(to, text(a.name), text(from));
  }

  /// Doubled, and turned if it is a square, a few times.
  void loop(const Tensor& a) {
    const int number = ++names_;
    const std::string state = "(s32[], " + shape(a.sizes) + ")";
    std::vector<std::int64_t> order = all_dimensions(a.sizes.size());
    if (a.sizes.size() == 2 && a.sizes[0] == a.sizes[1] && rewrites()) order = {1, 0};
    computations_ += fmt::format(
        "go{0} {{\n  t = {1} parameter(0)\n  n = s32[] get-tuple-element(t), index=0\n  z = s32[] "
        "constant(0)\n  ROOT p = pred[] compare(n, z), direction=GT\n}}\nbody{0} {{\n  t = {1} "
        "parameter(0)\n  n = s32[] get-tuple-element(t), index=0\n  x = {2} get-tuple-element(t), "
        "index=1\n  o = s32[] constant(1)\n  m = s32[] subtract(n, o)\n  y = {2} transpose(x), "
        "dimensions={{{3}}}\n  w = {2} add(y, y)\n  ROOT u = {1} tuple(m, w)\n}}\n",
        number, state, shape(a.sizes), fmt::join(order, ","));
    const int times = 1 + below(3);
    const int wrong = mistake() ? times + 1 : times;
    before_ += fmt::format("  n{} = s32[] constant({})\n", number, times);
    after_ += fmt::format("  n{} = s32[] constant({})\n", number, wrong);
    entry(fmt::format("s{0} = {1} tuple(n{0}, {2})", number, state, a.name));
    entry(fmt::format("w{0} = {1} while(s{0}), condition=go{0}, body=body{0}", number, state));
    both(a.sizes, fmt::format("get-tuple-element(w{}), index=1", number));
  }

  std::mt19937 random_;
  int mistakes_;
  bool mistaken_ = false;
  int names_ = 0;
  int channels_ = 0;
  std::string computations_;
  std::string before_;
  std::string after_;
  std::vector<Tensor> tensors_;
};

}  // namespace p2::hlo
