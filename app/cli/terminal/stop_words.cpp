// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/stop_words.h"

namespace plimsoll::cli {

std::string wait_words(const StopWait& wait) {
    if (wait.save) {
        const std::string written = format_bytes(wait.save->written);
        return fmt::format("the checkpoint of step {} is being saved: {}{}", format_count(wait.step), written,
                           wait.save_takes && *wait.save_takes >= wait.save->written
                               ? " of " + format_bytes(*wait.save_takes)
                               : " so far");
    }
    const std::string step = format_count(wait.step);
    const auto left = wait.left();
    if (!left) {
        return fmt::format("step {} is the first and has taken {} so far; then its checkpoint is saved", step,
                           format_seconds(wait.elapsed));
    }
    if (*left <= 0) {
        return fmt::format("step {} has taken {}, those before it {}; then its checkpoint is saved", step,
                           format_seconds(wait.elapsed), format_seconds(*wait.step_takes));
    }
    return fmt::format("step {} ends in about {}, then its checkpoint is saved", step, format_seconds(*left));
}

std::string stop_words(StopWish wish, const StopWait& wait) {
    switch (wish) {
        case StopWish::None:
            return "";
        case StopWish::AfterStep:
            return fmt::format(
                "stopping, nothing is lost: {}. Ctrl-C again does not wait for the step (its work is lost then), a third "
                "one kills the ranks at once",
                wait_words(wait));
        case StopWish::Now:
            return wait.save
                       ? fmt::format("stopping now, when this is done: {}. Ctrl-C again kills the ranks at once",
                                     wait_words(wait))
                       : fmt::format("stopping now: step {} is not waited for. Ctrl-C again kills the ranks at once",
                                     format_count(wait.step));
        case StopWish::AtOnce:
            return "the ranks are killed";
    }
    return "";
}

std::string next_interrupt_words(StopWish wish) {
    if (wish == StopWish::AfterStep) return "Ctrl-C: do not wait";
    return wish == StopWish::Now ? "Ctrl-C: kill" : "";
}

}  // namespace plimsoll::cli
