#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/options/options.h"

namespace CLI {
class App;
}

namespace fathom::benchmarks {

/// What an entry of the context says, which decides who compares it.
enum class ContextField {
  kMachine,      ///< which machine it is: files of one machine agree in it
  kSetting,      ///< a setting or version that changes times while the code stays the same
  kRun,          ///< which build and which rows: only --fathom_resume compares it
  kDescription,  ///< nobody compares it
};

/// How the value of an option is read from the command line into its field, and its words.
struct OptionValue {
  enum class Kind { kFlag, kChoice, kOther };

  Kind kind;
  std::string text;  ///< in --help: "LIST"; empty for a flag
  std::function<void(CLI::App& app, const std::string& flag, Options& options)> declare;
  /// Each value of a list, or the only one; an empty list or text where there is none.
  std::function<std::vector<std::string>(const Options&)> words;
};

/// An entry of the context, with an option's value.
struct OptionContext {
  std::string key = {};
  ContextField field = ContextField::kSetting;
  /// Null: the option's words; of a file that is read, a hash of its content.
  std::string (*value)(const Options&) = nullptr;
};

/// Another option that is refused beside an option, and why.
struct Exclusion {
  std::string flag;
  std::string why;
};

/// What the program does because of an option, beside the option's own purpose.
struct OptionRules {
  std::string_view token = {};  ///< the key of its values in the names of rows, as in "/batch:8/"
  std::vector<Exclusion> excludes = {};
  void (*imply)(Options&) = nullptr;  ///< sets what the option implies
  /// Why the value fits neither this machine nor this build nor the other options: what follows the
  /// flag in the message, as in ": needs --fathom_data=DIR". Empty: it fits.
  std::string (*refusal)(const Options&) = nullptr;
  /// A file that it names.
  enum class File { kNone, kInput, kOutput } file = File::kNone;
  OptionContext context = {};
  /// What a row's own process gets of it.
  enum class OwnProcess {
    kAsTyped,
    kOfRanks,     ///< as typed, if the row has ranks; without them it would be refused
    kOfTuned,     ///< as typed, if the row is of backend:tuned; in others it would be refused
    kValueOfRow,  ///< the value in the row's name, typed or not
    kNothing,
  } own_process = OwnProcess::kAsTyped;
};

/// An option of ours.
struct Option {
  std::string flag;
  std::string help;  ///< a sentence, and the default
  OptionValue value;
  OptionRules rules = {};

  /// Whether a launcher sets it, too.
  bool is_ranks() const { return rules.token == "ranks"; }
};

/// A part of --help.
struct OptionGroup {
  std::string name;
  std::vector<Option> options;
};

/// All groups in the order of --help. To add an option, add a field to Options and a record to one
/// of these.
OptionGroup axis_options();
OptionGroup condition_options();
OptionGroup recording_options();
OptionGroup robustness_options();
OptionGroup exit_options();

const std::vector<OptionGroup>& option_groups();

/// The options of all groups.
const std::vector<Option>& option_table();

/// Whether the option changes anything: a flag that is on, a choice other than the default, another
/// value that was typed or, for the ranks, comes from a launcher.
bool has_effect(const Option& option, const Options& options);

/// Whether the command line has the flag, or the environment one of Google Benchmark's.
bool is_given(const std::string& flag, const Options& options);

}  // namespace fathom::benchmarks
