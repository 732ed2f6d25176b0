// SPDX-License-Identifier: Apache-2.0
// Behaves like plimsoll-worker from outside. What each rank does is said by FAKE_RANK_<rank> (or FAKE_RANKS for all):
//   ok          ends well after 100 ms
//   train       goes on until SIGTERM, then ends well
//   ignore      goes on for ever, whatever it is asked
//   slow        takes 10 s to notice SIGTERM
//   then WHAT   trains until SIGTERM, then does WHAT
//   step MS     as train, but ends only MS after SIGTERM, with a checkpoint of step 7
//   save MS     as train, but writes a checkpoint of step 7 for MS after SIGTERM
//   save MS then MS        and ends only so long after the checkpoint
//   saves MS WHAT          begins a checkpoint of step 7 and does WHAT in the midst of it
//   tells CODE WORDS       leaves the words for the supervisor, not in its log, and ends with the code
//   exit CODE WORDS        prints the words and ends with the code
//   after MS exit CODE WORDS, after MS signal NUMBER
//   signal NUMBER          dies by the signal
//   orphan      leaves a child in its group, then behaves as train
// The store's behaviour is FAKE_STORE: ok (the default), silent, dies, babbles, short (ends after 300 ms).
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

std::atomic<bool> stopped{false};

std::string variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

/// Rank 0's, begun as save_checkpoint() begins one: under a hidden name. Where it lies.
std::filesystem::path begin_checkpoint() {
    const std::filesystem::path folder = std::filesystem::path(variable("PLIMSOLL_RUN")) / "checkpoints";
    std::filesystem::create_directories(folder / ".step-00000007.new");
    std::ofstream(folder / ".step-00000007.new" / "model.safetensors") << "1234";
    return folder;
}

void put_checkpoint(int ms) {
    if (variable("RANK") != "0") return sleep_ms(ms);
    const std::filesystem::path folder = begin_checkpoint();
    sleep_ms(ms);
    std::filesystem::rename(folder / ".step-00000007.new", folder / "step-00000007");
}

int serve_store() {
    const std::string mode = variable("FAKE_STORE");
    std::ofstream(variable("FAKE_PIDS") + "/store") << ::getpid();
    if (mode == "dies") {
        std::fputs("store: address in use\n", stderr);
        return 1;
    }
    if (mode == "babbles")
        std::puts("hello");
    else if (mode != "silent")
        std::puts("45678");
    std::fflush(stdout);
    if (mode == "short") {
        sleep_ms(300);
        return 3;
    }
    char c;
    while (::read(0, &c, 1) > 0) {
    }
    return 0;
}

int act(std::istringstream& words) {
    std::string verb;
    words >> verb;
    if (verb == "after") {
        int ms = 0;
        words >> ms;
        sleep_ms(ms);
        return act(words);
    }
    if (verb == "saves") {
        int ms = 0;
        words >> ms;
        begin_checkpoint();
        sleep_ms(ms);
        return act(words);
    }
    if (verb == "exit") {
        int code = 0;
        std::string text;
        words >> code;
        std::getline(words, text);
        std::printf("first line\n%s\n\n", text.c_str());
        std::fflush(stdout);
        return code;
    }
    if (verb == "tells") {
        int code = 0;
        std::string text;
        words >> code;
        std::getline(words, text);
        text += "\n";
        const int channel = std::atoi(variable("PLIMSOLL_LAST_WORDS").c_str());
        return ::write(channel, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? code : 98;
    }
    if (verb == "signal") {
        int number = 0;
        words >> number;
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::signal(number, SIG_DFL);
        ::raise(number);
        return 99;
    }
    if (verb == "orphan") {
        if (const pid_t child = ::fork(); child == 0) {
            ::signal(SIGTERM, SIG_IGN);
            std::ofstream(variable("FAKE_PIDS") + "/orphan") << ::getpid();
            while (true) sleep_ms(1000);
        }
        verb = "train";
    }
    if (verb == "ok") {
        sleep_ms(100);
        return 0;
    }
    if (verb == "ignore")
        ::signal(SIGTERM, SIG_IGN);
    else
        ::signal(SIGTERM, [](int) { stopped = true; });
    std::puts("training");
    std::fflush(stdout);
    while (!stopped) sleep_ms(verb == "slow" ? 10'000 : 10);
    int ms = 0;
    if (verb == "step" && words >> ms) {
        sleep_ms(ms);
        put_checkpoint(0);
    }
    if (verb == "save" && words >> ms) {
        put_checkpoint(ms);
        std::string then;
        if (words >> then >> ms) sleep_ms(ms);
    }
    if (verb == "then") return act(words);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "--store") return serve_store();
    const std::string rank = variable("RANK");
    if (!variable("FAKE_PIDS").empty()) std::ofstream(variable("FAKE_PIDS") + "/rank-" + rank) << ::getpid();
    std::string arguments;
    for (int i = 1; i < argc; ++i) arguments += std::string(" ") + argv[i];
    std::printf("rank %s of %s, local %s of %s, store %s:%s, run %s, threads %s, arguments%s\n", rank.c_str(),
                variable("WORLD_SIZE").c_str(), variable("LOCAL_RANK").c_str(), variable("LOCAL_WORLD_SIZE").c_str(),
                variable("MASTER_ADDR").c_str(), variable("MASTER_PORT").c_str(), variable("PLIMSOLL_RUN").c_str(),
                variable("OMP_NUM_THREADS").c_str(), arguments.c_str());
    std::fflush(stdout);
    const std::string own = variable("FAKE_RANK_" + rank);
    std::istringstream words(own.empty() ? variable("FAKE_RANKS") : own);
    return act(words);
}
