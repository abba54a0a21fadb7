// SPDX-License-Identifier: GPL-3.0-or-later

/// The table of operations on a card against the double-precision reference, each case twice: the
/// same inputs give the same bits. Then a few steps, launched one by one and recorded.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "engine/base/clock.h"
#include "tests/engine/backend/fp8_cases.h"
#include "tests/gpu/card.h"
#include "tests/gpu/card_check.h"
#include "tests/gpu/recorded_steps.h"

namespace {

using namespace athanor;

/// Of one operation, over all its cases.
struct Summary {
  int cases = 0;
  int failed = 0;
  Deviation worst;
};

std::string name_of(Operation operation) {
  return std::string(names_of(operation)[static_cast<std::size_t>(operation)]);
}

class Report {
 public:
  void add(const CaseResult& result) {
    Summary& summary = summaries_[name_of(result.operation)];
    ++summary.cases;
    if (result.deviation.share > summary.worst.share)
      summary.worst = {result.deviation.share, result.name + ", " + result.deviation.place};
    if (result.passed()) return;
    ++summary.failed;
    failures_.push_back({{"case", result.name}, {"problem", result.problem()}});
    fmt::print("FAILED  {}: {}\n", result.name, result.problem());
  }

  void add_recording(const std::string& problem) {
    if (problem.empty()) return;
    failures_.push_back({{"case", "recorded micro-batches"}, {"problem", problem}});
    fmt::print("FAILED  recorded micro-batches: {}\n", problem);
  }

  void print() const {
    fmt::print("{:<24}{:>6}{:>8}  worst error as a share of the tolerance\n", "operation", "cases",
               "failed");
    for (const auto& [name, of] : summaries_)
      fmt::print("{:<24}{:>6}{:>8}  {:.3f}  {}\n", name, of.cases, of.failed, of.worst.share,
                 of.worst.place);
  }

  Json json(const Device& device, double seconds) const {
    Json operations = Json::array();
    for (const auto& [name, of] : summaries_) {
      operations.push_back({{"operation", name},
                            {"cases", of.cases},
                            {"failed", of.failed},
                            {"worst_share", of.worst.share},
                            {"worst_place", of.worst.place}});
    }
    return {{"device", device.name},
            {"detail", device.detail},
            {"seconds", seconds},
            {"operations", operations},
            {"failures", failures_}};
  }

  bool passed() const { return failures_.empty() && !summaries_.empty(); }

 private:
  std::map<std::string, Summary> summaries_;
  Json failures_ = Json::array();
};

int check(const Device& device, const CardOptions& options, std::size_t every) {
  fmt::print("{}, {}\n", device.name, device.detail);
  const Stopwatch watch;
  const std::unique_ptr<Backend> backend = make_backend({.device = device.id});
  CardCheck card(*backend, std::filesystem::temp_directory_path());
  const std::vector<OperationCase> cases = cases_for(backend->traits());
  Report report;
  for (std::size_t i = 0; i < cases.size(); i += every) {
    for (const CaseResult& result : card.check(cases[i]))
      report.add(result);
  }
  report.add_recording(problem_of_recording(*backend));
  report.print();
  write_results(options.json, report.json(device, watch.seconds()));
  return report.passed() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks every operation on a card");
  CardOptions options;
  std::size_t every = 1;
  bool probe = false;
  app.add_option("--device", options.device, "cuda:0 and so on");
  app.add_option("--json", options.json);
  app.add_option("--every", every, "Of the table, only each so-many-th case")
      ->check(CLI::PositiveNumber);
  app.add_flag("--probe", probe, "Only tell whether there is a card");
  CLI11_PARSE(app, argc, argv);
  return run_on_card(options, [&](const Device& device) {
    if (!probe) return check(device, options, every);
    fmt::print("{}, {}\n", device.name, device.detail);
    return 0;
  });
}
