// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/remedies_report.h"

#include <algorithm>
#include <cmath>

#include "app/cli/terminal/terminal.h"

namespace plimsoll::cli {

namespace {

constexpr std::size_t name_width = 38;

std::string time_words(double slowdown) {
    if (std::abs(slowdown) < 0.0005) return "none";
    return fmt::format("{:+.1f} %", 100 * slowdown);
}

std::string row(const Remedy& remedy) {
    std::string then = remedy.fits ? coloured(fmt::format("fits: {}", format_bytes(remedy.total)), 35)
                                   : fmt::format("{} needed", format_bytes(remedy.total));
    if (remedy.host > 0) then += fmt::format(", {} more host memory per rank", format_bytes(remedy.host));
    if (!remedy.exact) then += remedy.adapters ? ", trains adapters alone" : ", changes numerics";
    return fmt::format("  {} {} {}   {}\n", fitted(remedy.name, name_width),
                       fitted(format_bytes(remedy.saves), 10, true), fitted(time_words(remedy.slowdown), 9, true),
                       then);
}

}  // namespace

std::string remedies_report(const Remedies& remedies, const MemoryEstimate& estimate, const std::string& call,
                            bool sources) {
    const auto width = static_cast<std::size_t>(std::max(terminal_size().columns, 80));
    std::string out = bold("Why") + "\n  " + wrapped(remedies.why, width - 2, 2) + "\n\n";
    out += bold(estimate.fits() ? "What would save more" : "What would make it fit") + "\n";
    out += fmt::format("  {} {} {}   then\n", fitted("change", name_width), fitted("saves", 10, true),
                       fitted("step time", 9, true));
    for (const Remedy& remedy : remedies.changes) {
        out += row(remedy);
        if (sources) out += "      " + wrapped(remedy.reason + ". " + remedy.source, width - 6, 6) + "\n";
    }
    if (remedies.changes.empty()) out += "  no change of the layout saves anything\n";
    if (remedies.set) {
        const Remedy& set = *remedies.set;
        out += fmt::format("\n{}\n  {}\n", bold("The cheapest that makes it fit"), wrapped(set.name, width - 2, 2));
        out += fmt::format("  saves {}, step time {}, then {} of {}{}\n", format_bytes(set.saves),
                           time_words(set.slowdown), format_bytes(set.total), format_bytes(estimate.usable),
                           set.host > 0 ? fmt::format(", {} more host memory per rank", format_bytes(set.host)) : "");
        out += "  " + wrapped(call, width - 2, 4) + "\n";
    } else if (!estimate.fits()) {
        out +=
            "\n" +
            wrapped(fmt::format("No set of these makes it fit: with all that helps the fullest rank still needs {} of "
                                "{}. Take more or larger GPUs.",
                                format_bytes(remedies.least), format_bytes(estimate.usable)),
                    width, 0) +
            "\n";
    }
    out += wrapped(
               "Step times come from the card's datasheet, as if nothing overlapped: a change costs that much at most.",
               width, 0) +
           "\n";
    return out;
}

}  // namespace plimsoll::cli
