#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace CLI {
class App;
}

namespace fathom::benchmarks {

/// The groups of --help, each with what it is about.
enum class OptionGroup { kAxes, kConditions, kRecording, kRobustness, kExit };

/// What an entry of the context says, which decides who compares it.
enum class ContextField {
  kMachine,      ///< which machine it is: files of one machine agree in it
  kSetting,      ///< a setting or version that changes times while the code stays the same
  kRun,          ///< which build and which rows: only --fathom_resume compares it
  kDescription,  ///< nobody compares it
};

/// What a row's own process gets of an option.
enum class OwnProcess {
  kAsTyped,
  kValueOfRow,  ///< the value in the row's name, typed or not
  kOfRanks,     ///< as typed, for a row with ranks: it has no effect on others, and is refused
  kOfTuned,     ///< as typed, for a row of backend:tuned, for the same reason
  kNothing,
};

/// How an option's value is read from the command line into a field of Options, and told.
struct OptionValue {
  enum class Kind { kFlag, kChoice, kList, kOther };

  Kind kind = Kind::kOther;
  std::string text;  ///< in --help: "LIST"; empty for a flag
  std::function<void(CLI::App& app, const std::string& flag, Options& options)> declare;
  /// Each value of a list, or the only one; an empty list or text where there is none.
  std::function<std::vector<std::string>(const Options&)> words;
};

/// An option that is refused beside another one, and why.
struct Exclusion {
  const char* flag;
  const char* why;
};

/// A file that an option names.
enum class OptionFile { kNone, kInput, kOutput };

/// An entry of the context, with an option's value.
struct OptionContext {
  const char* key = nullptr;
  ContextField field = ContextField::kDescription;
  /// Null: the option's words; of a file that is read, a hash of its content.
  std::string (*value)(const Options&) = nullptr;
};

/// An option of ours, with all that the program does because of it beside its own purpose.
struct Option {
  const char* flag;
  OptionGroup group;
  const char* help;           ///< a sentence
  const char* fallback = "";  ///< the default, in words
  OptionValue value;
  std::string_view token = "";  ///< the key of its values in the names of rows, as in "/batch:8/"
  std::vector<Exclusion> excludes = {};
  void (*imply)(Options&) = nullptr;  ///< sets what the option implies
  /// Why the value fits neither this machine nor this build nor the other options: what follows the
  /// flag in the message, as in ": needs --fathom_data=DIR". Empty: it fits.
  std::string (*refusal)(const Options&) = nullptr;
  OptionFile file = OptionFile::kNone;
  OptionContext context = {};
  OwnProcess own_process = OwnProcess::kAsTyped;

  /// Whether a launcher sets it, too.
  bool is_ranks() const { return token == "ranks"; }
};

/// All options, in the order of --help. To add one, add a field to Options and a record here.
const std::vector<Option>& option_table();

// Parts of the table.
std::vector<Option> axis_options();
std::vector<Option> condition_options();
std::vector<Option> other_options();

/// Whether the option changes anything: a flag that is on, a choice other than the default, another
/// value that was typed or, for the ranks, comes from a launcher.
bool has_effect(const Option& option, const Options& options);

/// Whether the command line has the flag, or the environment one of Google Benchmark's.
bool is_given(const std::string& flag, const Options& options);

}  // namespace fathom::benchmarks
