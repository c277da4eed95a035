// Constants in the textual form of MLIR: elements as numbers, as bit patterns, or as bytes (MLIR
// Language Reference, DenseIntOrFPElementsAttr). The formats of narrow floats are those of LLVM's
// APFloat.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"
#include "engine/hlo/text/mlir_syntax.h"

namespace p2::hlo {
namespace {

/// Which bit patterns of a float are no finite numbers.
enum class NonFinite : std::uint8_t {
  Ieee,          ///< the largest exponent: infinities and NaNs
  AllOnes,       ///< all ones: a NaN (`FN`)
  NegativeZero,  ///< the pattern of -0: a NaN (`FNUZ`)
  None,
  Unsigned  ///< all ones: a NaN; there is no sign, and no mantissa
};

struct FloatFormat {
  std::string_view name;
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
  NonFinite non_finite;
};

constexpr auto kFloatFormats = std::to_array<FloatFormat>({
    {"f64", 11, 52, 1023, NonFinite::Ieee},
    {"f32", 8, 23, 127, NonFinite::Ieee},
    {"bf16", 8, 7, 127, NonFinite::Ieee},
    {"f16", 5, 10, 15, NonFinite::Ieee},
    {"f8e5m2", 5, 2, 15, NonFinite::Ieee},
    {"f8e4m3", 4, 3, 7, NonFinite::Ieee},
    {"f8e3m4", 3, 4, 3, NonFinite::Ieee},
    {"f8e4m3fn", 4, 3, 7, NonFinite::AllOnes},
    {"f8e5m2fnuz", 5, 2, 16, NonFinite::NegativeZero},
    {"f8e4m3fnuz", 4, 3, 8, NonFinite::NegativeZero},
    {"f8e4m3b11fnuz", 4, 3, 11, NonFinite::NegativeZero},
    {"f4e2m1fn", 2, 1, 1, NonFinite::None},
    {"f8e8m0fnu", 8, 0, 127, NonFinite::Unsigned},
});

constexpr std::uint64_t low_ones(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

const FloatFormat* float_format(ElementType type) {
  const auto* const found =
      std::find_if(kFloatFormats.begin(), kFloatFormats.end(),
                   [&](const FloatFormat& each) { return each.name == type.name(); });
  return found == kFloatFormats.end() ? nullptr : found;
}

/// The nearest number of a format, ties to even.
double rounded(double value, const FloatFormat& format) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int least =
      std::max(exponent - 1, 1 - format.bias) - static_cast<int>(format.mantissa_bits);
  return std::ldexp(std::nearbyint(std::ldexp(value, -least)), least);
}

/// A finite number of a format as XLA prints it (RoundTripFpToString): the shorter text of f32 and
/// f64 if it stands for the same number, else as many digits as distinguish all numbers.
std::string decimal_text(double value, const FloatFormat& format) {
  const bool wide = format.name == "f32" || format.name == "f64";
  const auto bits = static_cast<double>(format.mantissa_bits);
  if (wide) {
    const int digits = static_cast<int>(std::floor(bits * std::log10(2.0)));
    std::string shorter = fmt::format("{:.{}g}", value, digits);
    double parsed = 0;
    std::from_chars(shorter.data(), shorter.data() + shorter.size(), parsed);
    if (rounded(parsed, format) == value) return shorter;
  }
  const int digits = static_cast<int>(std::ceil(1 + (bits + 1) * std::log10(2.0)));
  return fmt::format("{:.{}g}", value, digits);
}

/// A number, or its text if a Number cannot represent it.
LiteralElement decimal_element(std::string text) {
  if (const auto number = Number::read(text)) {
    return {*number, {}, number->is_zero() && text.starts_with('-')};
  }
  return {{}, std::move(text)};
}

LiteralElement float_element(std::uint64_t bits, const FloatFormat& format) {
  const std::uint64_t largest_exponent = low_ones(format.exponent_bits);
  const std::uint64_t largest_mantissa = low_ones(format.mantissa_bits);
  const bool negative = ((bits >> (format.exponent_bits + format.mantissa_bits)) & 1U) != 0;
  const std::uint64_t exponent = (bits >> format.mantissa_bits) & largest_exponent;
  const std::uint64_t mantissa = bits & largest_mantissa;
  const char* const sign = negative ? "-" : "";
  if (format.non_finite == NonFinite::Ieee && exponent == largest_exponent) {
    if (mantissa == 0) return {{}, fmt::format("{}inf", sign)};
    const bool quiet = mantissa == std::uint64_t{1} << (format.mantissa_bits - 1);
    return {{}, quiet ? fmt::format("{}nan", sign) : fmt::format("{}nan(0x{:x})", sign, mantissa)};
  }
  const bool ones = exponent == largest_exponent && mantissa == largest_mantissa;
  if (format.non_finite == NonFinite::AllOnes && ones) return {{}, fmt::format("{}nan", sign)};
  const bool minus_zero = negative && exponent == 0 && mantissa == 0;
  if (format.non_finite == NonFinite::NegativeZero && minus_zero) return {{}, "nan"};
  const std::uint64_t hidden = exponent == 0 ? 0 : std::uint64_t{1} << format.mantissa_bits;
  const int power = static_cast<int>(std::max<std::uint64_t>(exponent, 1)) - format.bias -
                    static_cast<int>(format.mantissa_bits);
  const double value = std::ldexp(static_cast<double>(mantissa | hidden), power);
  return decimal_element(decimal_text(negative ? -value : value, format));
}

/// Whole numbers below are the same in decimal, whatever the format.
constexpr std::int64_t kShortNumbers = 100;

/// The number with these bits; its text for a type without numbers.
LiteralElement element_of_bits(std::uint64_t bits, ElementType type) {
  const FloatFormat* const format = float_format(type);
  if (format != nullptr && format->non_finite == NonFinite::Unsigned) {
    if (bits == 0xff) return {{}, "nan"};
    const int power = static_cast<int>(bits & 0xffU) - format->bias;
    return decimal_element(decimal_text(std::ldexp(1.0, power), *format));
  }
  if (format != nullptr) return float_element(bits, *format);
  if (type.kind() == ElementType::Kind::Boolean) return {{(bits & 1U) != 0 ? 1 : 0, 1}, {}};
  Wide value = static_cast<Wide>(bits & low_ones(type.bits()));
  const bool is_negative =
      type.kind() == ElementType::Kind::Signed && ((bits >> (type.bits() - 1)) & 1U) != 0;
  if (is_negative) value -= Wide{1} << type.bits();
  const auto number = type.is_integer() ? Number::ratio(value, 1) : std::nullopt;
  if (number) return {*number, {}};
  if (is_negative) return {{}, fmt::format("{}", static_cast<std::int64_t>(bits))};
  return {{}, type.is_integer() ? fmt::format("{}", bits) : fmt::format("0x{:X}", bits)};
}

int digit_of(char ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
  return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/// The bits of `0xFF800000`; nothing for other text, or more than 64 bits.
std::optional<std::uint64_t> bit_pattern(std::string_view text) {
  if (!text.starts_with("0x") || text.size() == 2 || text.size() > 18) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char ch : text.substr(2)) {
    const int digit = digit_of(ch);
    if (digit < 0) return std::nullopt;
    bits = bits << 4U | static_cast<std::uint64_t>(digit);
  }
  return bits;
}

/// The bytes of `0x0100`; nothing for other text.
std::optional<std::string> bytes_of(std::string_view text) {
  if (!text.starts_with("0x") || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 2; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return bits;
}

/// As XLA prints it: `(1, 2.5)`.
std::string complex_text(const LiteralElement& real, const LiteralElement& imaginary,
                         const FloatFormat& format) {
  const auto text = [&](const LiteralElement& part) {
    if (!part.text.empty()) return part.text;
    return decimal_text(part.negative_zero ? -0.0 : part.number.to_double(), format);
  };
  return fmt::format("({}, {})", text(real), text(imaginary));
}

ElementType part_of_complex(ElementType type) {
  return *ElementType::from_xla(type.bits() == 64 ? "f32" : "f64");
}

LiteralElement element_of_bytes(std::string_view bytes, ElementType type) {
  if (!type.is_complex()) {
    return element_of_bits(little_endian(bytes), type);
  }
  const ElementType part = part_of_complex(type);
  const std::size_t half = bytes.size() / 2;
  return {
      {},
      complex_text(element_of_bits(little_endian(bytes.substr(0, half)), part),
                   element_of_bits(little_endian(bytes.substr(half)), part), *float_format(part))};
}

LiteralElement element_of_text(const std::string& text, ElementType type) {
  if (const auto bits = bit_pattern(text)) return element_of_bits(*bits, type);
  const std::size_t comma = text.find(',');
  if (type.is_complex() && text.starts_with('(') && comma != std::string::npos) {
    const ElementType part = part_of_complex(type);
    const std::size_t second = std::min(text.find_first_not_of(' ', comma + 1), text.size() - 1);
    return {{},
            complex_text(element_of_text(text.substr(1, comma - 1), part),
                         element_of_text(text.substr(second, text.size() - 1 - second), part),
                         *float_format(part))};
  }
  const FloatFormat* const format = float_format(type);
  const auto number = Number::read(text);
  const bool short_number =
      number && number->is_whole() && std::abs(number->numerator) < kShortNumbers;
  if (format == nullptr || short_number) return decimal_element(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !std::isfinite(value)) return decimal_element(text);
  return decimal_element(decimal_text(rounded(value, *format), *format));
}

/// Reads all elements from their bytes, in little-endian order; whether their number fits. A
/// boolean takes a bit, or a byte; elements of less than a byte take one.
bool append_bytes(const std::string& bytes, Literal& literal) {
  const ElementType type = literal.shape.type;
  const std::int64_t count = literal.shape.elements();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (count > static_cast<std::int64_t>(kMaxLiteralElements) && size > 16) return false;
  const std::int64_t each = (static_cast<std::int64_t>(type.bits()) + 7) / 8;
  if (each == 0) return false;
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  if (size == each || size == each * count) {
    for (std::int64_t i = 0; i < size; i += each) {
      literal.elements.push_back(
          element_of_bytes(std::string_view(bytes).substr(static_cast<std::size_t>(i),
                                                          static_cast<std::size_t>(each)),
                           type));
    }
    return true;
  }
  if (!boolean || size != (count + 7) / 8) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i / 8)]);
    literal.elements.push_back(element_of_bits((byte >> (i % 8)) & 1U, type));
  }
  return true;
}

/// The text of a number, of a bit pattern or, of a complex type, `(1.0, 2.0)`.
std::string read_dense_element(TextReader& reader) {
  if (!reader.accept("(")) return std::string(reader.literal());
  const std::string pair(reader.raw(")", false));
  reader.expect(")", "after a complex number");
  return "(" + pair + ")";
}

void read_dense_elements(TextReader& reader, Literal& literal) {
  std::size_t depth = 0;
  do {
    if (reader.accept("[")) {
      ++depth;
    } else if (depth > 0 && reader.accept("]")) {
      --depth;
    } else if (!reader.accept(",")) {
      if (literal.elements.size() == kMaxLiteralElements) {
        reader.fail(fmt::format("a constant of more than {} elements, expected fewer",
                                kMaxLiteralElements));
      }
      reader.require_growth(literal.elements);
      literal.elements.push_back({{}, read_dense_element(reader)});
    }
  } while (depth > 0);
}

}  // namespace

Literal read_dense(TextReader& reader) {
  Literal literal;
  std::optional<std::string> bytes;
  if (reader.accept("dense_resource<")) {
    literal.elided = true;
    reader.raw(">", false, true);
  } else {
    reader.expect("dense<", "before the elements of a constant");
    if (reader.next_is("\"")) {
      bytes = bytes_of(reader.quoted());
      literal.elided = !bytes;
    } else if (!reader.next_is(">")) {
      read_dense_elements(reader, literal);
    }
  }
  reader.expect(">", "after the elements of a constant");
  reader.expect(":", "before the type of a constant");
  literal.shape = read_mlir_type(reader).array;
  if (bytes) {
    literal.elided = !append_bytes(*bytes, literal);
    return literal;
  }
  for (LiteralElement& element : literal.elements) {
    element = element_of_text(element.text, literal.shape.type);
  }
  const auto listed = static_cast<std::int64_t>(literal.elements.size());
  const bool splat = listed == 1;
  if (!literal.elided && !splat && listed != literal.shape.elements()) {
    reader.fail(fmt::format("{} elements for {}, expected {}", listed, to_string(literal.shape),
                            literal.shape.elements()));
  }
  return literal;
}

}  // namespace p2::hlo
