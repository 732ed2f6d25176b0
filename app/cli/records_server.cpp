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
/// Scrapers at a time; others wait. Seconds until one that sends or takes nothing is cut off.
constexpr std::size_t most_connections = 64;
constexpr int patience = 2;

/// "127.0.0.1:9464", "localhost", "[::1]:9464"; HTTP/1.0 may have none.
bool is_own_name(std::string host) {
    if (const auto colon = host.rfind(':'); colon != std::string::npos && host.find(']', colon) == std::string::npos)
        host.resize(colon);
    return host.empty() || host == loopback || host == "localhost" || host == "[::1]";
}

constexpr const char* exposition = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

Result<void> serve_records(const RunFolder& run, int port) {
    RunTelemetry telemetry(run);
    std::mutex reading;
    httplib::Server server;
    server.new_task_queue = [] { return new httplib::ThreadPool(most_connections); };
    server.set_read_timeout(patience);
    server.set_write_timeout(patience);
    server.set_keep_alive_max_count(1);
    server.set_payload_max_length(0);
    // A page of another site whose name leads to 127.0.0.1 asks under its own name (DNS rebinding).
    server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
        if (is_own_name(request.get_header_value("Host"))) return httplib::Server::HandlerResponse::Unhandled;
        response.status = 403;
        response.set_content("the Host header names another machine than this one\n", "text/plain");
        return httplib::Server::HandlerResponse::Handled;
    });
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
