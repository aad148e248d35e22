#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/option.h"

namespace fathom::benchmarks {

// Each function makes the value of an option that sets a field. `get` returns a reference to the
// field of an Options.

using Names = std::span<const std::string_view>;

/// 25 or 0.5.
template <typename Number>
std::string number_text(Number number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// Throws UsageError where a list holds a value twice.
template <typename List>
void refuse_repeats(const std::string& flag, const List& list) {
  if (std::set(list.begin(), list.end()).size() != list.size())
    throw UsageError(flag + ": a value occurs twice, expected each value once");
}

/// An enum whose values are in the order of `names`.
template <typename Enum>
Enum enum_value(const std::string& typed, Names names) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), typed) - names.begin());
}

inline CLI::IsMember one_of(Names names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

/// CLI11's own validators would print the limits of the type, 300 digits long.
CLI::Validator positive_number();

/// A refusal of what runs on a GPU only; empty where there are GPU rows.
std::string refused_without_gpu(const Options& options);

/// A refusal of what only ranks have.
std::string refused_without_ranks(const Options& options);

/// On or off.
template <typename Get>
OptionValue flag(Get get) {
  return {.kind = OptionValue::Kind::kFlag,
          .text = "",
          .declare = [get](CLI::App& app, const std::string& name,
                           Options& options) { app.add_flag(name, get(options)); },
          .words = [get](const Options& options) -> std::vector<std::string> {
            return {get(options) ? "on" : "off"};
          }};
}

/// One of `names`, of an enum, a bool or an optional enum.
template <typename Get>
OptionValue choice(Get get, Names names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : "|").append(name);
  const auto declare = [get, names](CLI::App& app, const std::string& flag, Options& options) {
    const auto set = [&field = get(options), names](const std::string& typed) {
      using Field = std::remove_reference_t<decltype(field)>;
      if constexpr (requires { field.has_value(); }) {
        field = enum_value<typename Field::value_type>(typed, names);
      } else {
        field = enum_value<Field>(typed, names);
      }
    };
    app.add_option_function<std::string>(flag, set)->check(one_of(names));
  };
  const auto words = [get, names](const Options& options) -> std::vector<std::string> {
    const auto& field = get(options);
    if constexpr (requires { field.has_value(); }) {
      return {field ? std::string(names[static_cast<std::size_t>(*field)]) : ""};
    } else {
      return {std::string(names[static_cast<std::size_t>(field)])};
    }
  };
  return {.kind = OptionValue::Kind::kChoice, .text = text, .declare = declare, .words = words};
}

/// Values of an enum, with commas.
template <typename Get>
OptionValue names_list(Get get, Names names) {
  const auto declare = [get, names](CLI::App& app, const std::string& flag, Options& options) {
    const auto set = [flag, names, &field = get(options)](const std::vector<std::string>& typed) {
      field.clear();
      for (const auto& one : typed) {
        field.push_back(
            enum_value<typename std::remove_reference_t<decltype(field)>::value_type>(one, names));
      }
      refuse_repeats(flag, field);
    };
    app.add_option_function<std::vector<std::string>>(flag, set)->delimiter(',')->check(
        one_of(names));
  };
  const auto words = [get](const Options& options) {
    std::vector<std::string> all;
    for (const auto one : get(options)) all.emplace_back(name(one));
    return all;
  };
  return {.kind = OptionValue::Kind::kList, .text = "LIST", .declare = declare, .words = words};
}

/// Integers from `least` to `most`, with commas.
template <typename Get, typename Number>
OptionValue numbers(Get get, Number least, Number most) {
  const auto declare = [=](CLI::App& app, const std::string& flag, Options& options) {
    const auto set = [flag, &field = get(options)](const std::vector<Number>& typed) {
      refuse_repeats(flag, typed);
      field = typed;
    };
    app.add_option_function<std::vector<Number>>(flag, set)->delimiter(',')->check(
        CLI::Range(least, most));
  };
  const auto words = [get](const Options& options) {
    std::vector<std::string> all;
    for (const auto one : get(options)) all.push_back(std::to_string(one));
    return all;
  };
  return {.kind = OptionValue::Kind::kList, .text = "LIST", .declare = declare, .words = words};
}

/// A number that `check` accepts.
template <typename Get>
OptionValue number(Get get, CLI::Validator check) {
  return {.kind = OptionValue::Kind::kOther,
          .text = "N",
          .declare = [get, check](
                         CLI::App& app, const std::string& name,
                         Options& options) { app.add_option(name, get(options))->check(check); },
          .words = [get](const Options& options) -> std::vector<std::string> {
            const auto& field = get(options);
            if constexpr (requires { field.has_value(); }) {
              return {field ? number_text(*field) : ""};
            } else {
              return {number_text(field)};
            }
          }};
}

/// A text or a path, which --help calls `text`.
template <typename Get>
OptionValue string(Get get, const char* text, CLI::Validator check = {}) {
  return {.kind = OptionValue::Kind::kOther,
          .text = text,
          .declare =
              [get, check](CLI::App& app, const std::string& name, Options& options) {
                const auto set = [&field = get(options)](const std::string& typed) {
                  field = typed;
                };
                app.add_option_function<std::string>(name, set)->check(check);
              },
          .words = [get](const Options& options) -> std::vector<std::string> {
            const auto& field = get(options);
            if constexpr (requires { field.string(); }) {
              return {field.string()};
            } else {
              return {field};
            }
          }};
}

template <typename Get>
OptionValue file(Get get) {
  return string(get, "FILE");
}

}  // namespace fathom::benchmarks
