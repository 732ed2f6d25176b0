// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::testing {

namespace {

constexpr auto longest_wait = std::chrono::seconds(60);
constexpr auto poll_pause = std::chrono::milliseconds(5);

void or_fail(const Result<void>& result) {
    if (!result) ADD_FAILURE() << result.error().message;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-ranks-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
}

std::filesystem::path worker_program() { return std::filesystem::path(PLIMSOLL_BIN_DIR) / "plimsoll-worker"; }

Plan small_plan(const std::string& preset, const std::filesystem::path& corpus) {
    Plan plan;
    plan.model = model_preset(preset).value();
    plan.model.hidden_size = 32;
    plan.model.num_layers = 2;
    plan.model.num_heads = 4;
    plan.model.num_kv_heads = plan.model.family == Family::Gpt2 ? 4 : 2;
    plan.model.ffn_hidden_size = 64;
    plan.model.max_position = 64;
    plan.cluster.gpus_per_node = 1;
    plan.layout.dp = 1;
    plan.layout.micro_batch = 8;
    plan.layout.accumulation = 1;
    plan.optimizer.lr = 1e-3;
    // Some gradients are zero but for rounding (GPT-2's key biases shift every score alike): with the usual 1e-8 Adam
    // would blow that rounding up to whole steps, different ones for each order of summation.
    plan.optimizer.eps = 1e-5;
    plan.lr.warmup_steps = 2;
    plan.data.path = corpus.string();
    plan.data.sequence_length = 16;
    plan.training.steps = 6;
    plan.training.validate_every = 0;
    plan.training.sample_every = 0;
    plan.training.checkpoint_every = 0;
    plan.training.layer_norms_every = 2;
    return plan;
}

std::filesystem::path write_corpus(const std::filesystem::path& folder) {
    const std::vector<std::string> words{"and", "the",   "waters",  "were",   "gathered", "unto",
                                         "one", "place", "of",      "light",  "from",     "darkness",
                                         "day", "night", "evening", "morning"};
    std::string text;
    for (std::size_t i = 0; text.size() < 8192; ++i)
        text += words[(i * i + 3 * i) % words.size()] + (i % 9 == 8 ? ".\n" : " ");
    const auto path = folder / "corpus.txt";
    or_fail(write_file_atomic(path, text));
    return path;
}

void write_plan(const std::filesystem::path& run, const Plan& plan) {
    std::filesystem::create_directories(run);
    or_fail(save_plan(RunLayout(run).plan(), plan));
}

Child::Child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
             const Environment& environment, const std::filesystem::path& output, const std::filesystem::path& errors)
    : errors_(errors) {
    // All that allocates comes before the fork.
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string name(*entry, std::strcspn(*entry, "="));
        if (!environment.contains(name)) variables.emplace_back(*entry);
    }
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int err = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
}

Child::~Child() {
    if (code_ != -2) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const { ::kill(pid_, number); }

int Child::wait() {
    if (code_ != -2) return code_;
    const auto end = std::chrono::steady_clock::now() + longest_wait;
    for (;;) {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        if (std::chrono::steady_clock::now() > end) return -1;
        std::this_thread::sleep_for(poll_pause);
    }
}

std::string Child::errors() const { return bytes_of(errors_); }

std::string Child::last_line() const {
    std::istringstream lines(errors());
    std::string line, last;
    while (std::getline(lines, line)) {
        if (!line.empty()) last = line;
    }
    return last;
}

Store::Store() {
    // Ranks that are threads of one program would share LibTorch's flight recorder, which is not made for that: it
    // writes a map without a lock.
    ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const std::string program = worker_program().string();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::execl(program.c_str(), program.c_str(), "--store", nullptr);
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    stdin_ = in[1];
    std::string line;
    char letter = 0;
    while (::read(out[0], &letter, 1) == 1 && letter != '\n') line += letter;
    ::close(out[0]);
    port_ = std::atoi(line.c_str());
    if (port_ <= 0) ADD_FAILURE() << "the store told no port but \"" << line << '"';
}

int Store::close() {
    ::close(std::exchange(stdin_, -1));
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Store::~Store() {
    if (pid_ > 0) close();
}

Ranks::Ranks(const std::filesystem::path& run, int world_size, const std::vector<std::string>& arguments,
             const std::vector<Environment>& more) {
    std::filesystem::create_directories(RunLayout(run).logs());
    for (int rank = 0; rank < world_size; ++rank) {
        Environment environment{{"RANK", std::to_string(rank)},
                                {"LOCAL_RANK", std::to_string(rank)},
                                {"WORLD_SIZE", std::to_string(world_size)},
                                {"MASTER_ADDR", "127.0.0.1"},
                                {"MASTER_PORT", std::to_string(store_.port())},
                                {"PLIMSOLL_RUN", run.string()}};
        if (!more.empty()) environment.merge(Environment(more[static_cast<std::size_t>(rank)]));
        children_.push_back(std::make_unique<Child>(worker_program(), arguments, environment,
                                                    RunLayout(run).logs() / fmt::format("rank-{}.out", rank),
                                                    RunLayout(run).logs() / fmt::format("rank-{}.err", rank)));
    }
}

std::vector<int> Ranks::wait() {
    std::vector<int> codes;
    for (const auto& child : children_) codes.push_back(child->wait());
    return codes;
}

void train(const std::filesystem::path& run, const Plan& plan) {
    write_plan(run, plan);
    const auto world_size = static_cast<int>(plan.layout.world_size());
    Ranks ranks(run, world_size);
    const auto codes = ranks.wait();
    for (int rank = 0; rank < world_size; ++rank) {
        EXPECT_EQ(codes[static_cast<std::size_t>(rank)], 0) << "rank " << rank << ": " << ranks.rank(rank).errors();
    }
}

SeriesStore recorded(const std::filesystem::path& run, int world_size) {
    SeriesStore store;
    for (int rank = 0; rank < world_size; ++rank) {
        TelemetryReader reader(RunLayout(run).record(rank));
        const auto batch = reader.poll();
        if (batch) {
            store.apply(*batch, rank);
        } else {
            ADD_FAILURE() << batch.error().message;
        }
    }
    return store;
}

std::vector<double> values(const SeriesStore& store, const std::string& series) {
    std::vector<double> values;
    const Pyramid* pyramid = store.find(series);
    if (pyramid == nullptr) return values;
    for (std::size_t i = 0; i < pyramid->size(); ++i) values.push_back(pyramid->value(i));
    return values;
}

std::vector<Event> events_of(const SeriesStore& store, EventKind kind) {
    std::vector<Event> events;
    for (const Event& event : store.events()) {
        if (event.kind == kind) events.push_back(event);
    }
    return events;
}

bool wait_for_points(const std::filesystem::path& run, const std::string& series, std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + longest_wait;
    while (std::chrono::steady_clock::now() < end) {
        if (values(recorded(run), series).size() >= count) return true;
        std::this_thread::sleep_for(poll_pause);
    }
    return false;
}

std::map<std::string, std::vector<float>> tensors_of(const std::filesystem::path& file) {
    const std::string bytes = bytes_of(file);
    std::uint64_t header = 0;
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    const Json json = Json::parse(bytes.substr(sizeof header, header));
    std::map<std::string, std::vector<float>> tensors;
    for (const auto& [name, entry] : json.items()) {
        if (name == "__metadata__") continue;
        EXPECT_EQ(entry.at("dtype"), "F32") << name;
        const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
        const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
        std::vector<float>& tensor = tensors[name];
        tensor.resize((end - begin) / sizeof(float));
        std::memcpy(tensor.data(), bytes.data() + sizeof header + header + begin, end - begin);
    }
    return tensors;
}

std::filesystem::path checkpoint(const std::filesystem::path& run, int step) { return RunLayout(run).checkpoint(step); }

std::string bytes_of(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    if (bytes) return *bytes;
    ADD_FAILURE() << bytes.error().message;
    return "";
}

}  // namespace plimsoll::testing
