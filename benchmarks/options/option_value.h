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
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/option.h"

namespace fathom::benchmarks {

// The values of options, each with the field that it sets: a member of Options or of a part of it.

using Names = std::span<const std::string_view>;

/// The part of the options that has the members of `Part`.
template <typename Part, typename All>
auto& part_of(All& options) {
  if constexpr (std::is_same_v<Part, Axes>) {
    return options.axes;
  } else if constexpr (std::is_same_v<Part, Conditions>) {
    return options.conditions;
  } else if constexpr (std::is_same_v<Part, Recording>) {
    return options.recording;
  } else if constexpr (std::is_same_v<Part, fixtures::DataSource>) {
    return options.conditions.data;
  } else {
    return options;
  }
}

/// "on", "25", "0.5", the name of an enum, a text or a path; empty for no value.
template <typename Field>
std::string word(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>) {
    return field ? "on" : "off";
  } else if constexpr (requires { field.has_value(); }) {
    return field ? word(*field) : "";
  } else if constexpr (std::is_enum_v<Field>) {
    return std::string(name(field));
  } else if constexpr (std::is_arithmetic_v<Field>) {
    std::ostringstream text;
    text << field;
    return text.str();
  } else if constexpr (requires { field.string(); }) {
    return field.string();
  } else {
    return field;
  }
}

template <typename Field, typename Part>
auto words_of(Field Part::*member) {
  return [member](const Options& options) {
    return std::vector<std::string>{word(part_of<Part>(options).*member)};
  };
}

template <typename Element, typename Part>
auto words_of(std::vector<Element> Part::*member) {
  return [member](const Options& options) {
    std::vector<std::string> words;
    for (const auto& one : part_of<Part>(options).*member) words.push_back(word(one));
    return words;
  };
}

/// Throws UsageError where a list holds a value twice.
template <typename List>
void refuse_repeats(const std::string& flag, const List& list) {
  if (std::set(list.begin(), list.end()).size() != list.size())
    throw UsageError(flag + ": a value occurs twice, expected each value once");
}

/// A bool or an enum whose values are in the order of `names`.
template <typename Enum>
Enum enum_value(const std::string& typed, Names names) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), typed) - names.begin());
}

inline CLI::IsMember one_of(Names names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

/// On or off.
template <typename Part>
OptionValue flag(bool Part::*member) {
  return {OptionValue::Kind::kFlag, "",
          [member](CLI::App& app, const std::string& flag, Options& options) {
            app.add_flag(flag, part_of<Part>(options).*member);
          },
          words_of(member)};
}

/// A number or a text that `check` accepts; --help calls it `text`.
template <typename Field, typename Part>
OptionValue value(const char* text, Field Part::*member, const CLI::Validator& check = {}) {
  return {OptionValue::Kind::kOther, text,
          [=](CLI::App& app, const std::string& flag, Options& options) {
            app.add_option(flag, part_of<Part>(options).*member)->check(check);
          },
          words_of(member)};
}

/// One of `names`, which sets a bool, an enum or, where there is no default, an optional enum.
template <typename Enum, typename Field, typename Part>
OptionValue choice(Field Part::*member, Names names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : "|").append(name);
  return {OptionValue::Kind::kChoice, text,
          [=](CLI::App& app, const std::string& flag, Options& options) {
            const auto set = [=,
                              &field = part_of<Part>(options).*member](const std::string& typed) {
              field = enum_value<Enum>(typed, names);
            };
            app.add_option_function<std::string>(flag, set)->check(one_of(names));
          },
          words_of(member)};
}

/// A list with commas: `convert` makes an element of what was typed, which `check` accepts.
template <typename Typed, typename Field, typename Part, typename Convert>
OptionValue list(Field Part::*member, const CLI::Validator& check, Convert convert) {
  return {OptionValue::Kind::kOther, "LIST",
          [=](CLI::App& app, const std::string& flag, Options& options) {
            const auto set = [=, &options](const std::vector<Typed>& typed) {
              Field& field = part_of<Part>(options).*member;
              field.clear();
              for (const auto& one : typed) field.push_back(convert(one, options));
              refuse_repeats(flag, field);
            };
            app.add_option_function<std::vector<Typed>>(flag, set)->delimiter(',')->check(check);
          },
          words_of(member)};
}

template <typename Enum, typename Part>
OptionValue list(std::vector<Enum> Part::*member, Names names) {
  return list<std::string>(member, one_of(names), [names](const std::string& typed, const auto&) {
    return enum_value<Enum>(typed, names);
  });
}

template <typename Number, typename Part>
OptionValue list(std::vector<Number> Part::*member, Number least, Number most) {
  return list<Number>(member, CLI::Range(least, most),
                      [](Number typed, const auto&) { return typed; });
}

/// CLI11's own validators would print the limits of the type, 300 digits long.
CLI::Validator positive_number();

/// A refusal of what runs on a GPU only; empty where there are GPU rows.
std::string refused_without_gpu(const Options& options);

/// A refusal of what only ranks have.
std::string refused_without_ranks(const Options& options);

/// A refusal of what needs a JSON file of results.
std::string refused_without_out(const Options& options);

}  // namespace fathom::benchmarks
