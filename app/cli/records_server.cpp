// SPDX-License-Identifier: Apache-2.0
#include "app/cli/records_server.h"

#include <httplib.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/terminal.h"
#include "core/interop/records/records_export.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

namespace {

constexpr const char* loopback = "127.0.0.1";
constexpr const char* exposition = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

Result<void> serve_records(const RunFolder& run, int port) {
    RunTelemetry telemetry(run);
    std::mutex reading;
    httplib::Server server;
    server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
        const std::lock_guard lock(reading);
        while (telemetry.poll() && !telemetry.at_end()) {
        }
        std::string text;
        auto written = export_records(telemetry.series(), RecordFormat::Prometheus, run.name(),
                                      [&](std::string_view piece) -> Result<void> {
                                          text += piece;
                                          return {};
                                      });
        if (!written) {
            response.status = 500;
            text = written.error().message + "\n";
        }
        response.set_content(text, exposition);
    });
    const int bound = port == 0 ? server.bind_to_any_port(loopback) : server.bind_to_port(loopback, port) ? port : -1;
    if (bound < 0)
        return bad_input("port {} of {} is taken; give another with --listen, or 0 for a free one", port, loopback);
    say(fmt::format("http://{}:{}/metrics answers with the last values of run {}; Ctrl-C ends it\n", loopback, bound,
                    run.name()));
    std::fflush(stdout);
    count_interrupts();
    std::thread watch([&] {
        while (interrupts == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        server.stop();
    });
    server.listen_after_bind();
    // When the server ends by itself, its watching thread has to end as well.
    ++interrupts;
    watch.join();
    return {};
}

}  // namespace plimsoll::cli
