// SPDX-License-Identifier: Apache-2.0
// Pickles as values; what is damaged or hostile ends in a sentence.
#include "core/checkpoint/pickle.h"

#include <gmock/gmock.h>

#include "tests/support/some_torch_file.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Pickle parsed(const std::string& bytes) {
    auto pickle = Pickle::parse(bytes, "a.pkl");
    EXPECT_TRUE(pickle) << pickle.error().message;
    return pickle ? *std::move(pickle) : Pickle();
}

void expect_refused(const std::string& bytes, const std::string& words) {
    const auto pickle = Pickle::parse(bytes, "a.pkl");
    ASSERT_FALSE(pickle) << words;
    EXPECT_THAT(pickle.error().message, HasSubstr(words));
    EXPECT_THAT(pickle.error().message, HasSubstr("a.pkl, byte "));
}

TEST(PickleTest, ValuesOfEveryKind) {
    // pickle.dumps({"a": -2, "b": (1.5, None, True), "c": [b"x", 2**70]}, protocol=4)
    const std::string bytes = bytes_of(
        "\x80\x04\x95\x36\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x01\x61\x94\x4a\xfe\xff\xff\xff\x8c"
        "\x01\x62\x94\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x4e\x88\x87\x94\x8c\x01\x63\x94\x5d\x94\x28\x43"
        "\x01\x78\x94\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x65\x75\x2e");
    const Pickle pickle = parsed(bytes);
    EXPECT_EQ(pickle.integer(*pickle.find(pickle.root(), "a")), -2);
    const auto b = pickle.elements(*pickle.find(pickle.root(), "b"));
    ASSERT_EQ(b.size(), 3U);
    EXPECT_EQ(pickle[b[0]].real, 1.5);
    EXPECT_EQ(pickle[b[1]].kind, PickleNode::Kind::None);
    EXPECT_EQ(pickle[b[2]].integer, 1);
    const auto c = pickle.elements(*pickle.find(pickle.root(), "c"));
    EXPECT_EQ(pickle[c[0]].text, "x");
    EXPECT_EQ(pickle[c[1]].kind, PickleNode::Kind::BigInt);
    EXPECT_FALSE(pickle.find(pickle.root(), "d"));
}

TEST(PickleTest, CallsAreWrittenDownNotMade) {
    const Pickle pickle = parsed(PickleText().global("os", "system").text("rm -rf /").op("\x85R").done());
    EXPECT_TRUE(pickle.is_call(pickle.root(), "os.system"));
    EXPECT_EQ(pickle.text(pickle.elements(pickle[pickle.root()].arguments)[0]), "rm -rf /");
}

TEST(PickleTest, ObjectsHaveAttributesAndItems) {
    PickleText text;
    text.global("collections", "OrderedDict")
        .op(")R(")
        .text("w")
        .number(7)
        .op("u}")
        .text("_metadata")
        .number(1)
        .op("sb");
    const Pickle ordered = parsed(text.done());
    EXPECT_EQ(ordered.integer(*ordered.find(ordered.root(), "w")), 7);
    const Pickle object = parsed(PickleText().global("m", "Info").op(")\x81}").text("path").text("x").op("sb").done());
    EXPECT_EQ(object.text(*object.find(object.root(), "path")), "x");
    const Pickle size = parsed(PickleText().size({2, 3}).done());
    EXPECT_THAT(*size.integers(size.root()), ElementsAre(2, 3));
}

TEST(PickleTest, NegativeAndSmallIntegers) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
        const Pickle pickle = parsed(PickleText().number(value).done());
        EXPECT_EQ(pickle.integer(pickle.root()), value);
    }
    EXPECT_EQ(parsed(bytes_of("\x80\x02\x8a\x02\x00\xff.")).integer(0), -256);
    EXPECT_EQ(parsed(bytes_of("\x80\x02\x8a\x00.")).integer(0), 0);
}

TEST(PickleTest, AListMayHoldItself) {
    // l = []; l.append(l)
    const Pickle pickle =
        parsed(bytes_of("\x80\x02]q\x00h\x00"
                        "a."));
    EXPECT_EQ(pickle.elements(pickle.root())[0], pickle.root());
}

TEST(PickleTest, DeepNestingTakesNoStack) {
    std::string deep("\x80\x02]", 3);
    for (int i = 0; i < 200'000; ++i) deep += "]";
    for (int i = 0; i < 200'000; ++i) deep += "a";
    EXPECT_EQ(parsed(deep + ".").elements(0).size(), 1U);
}

TEST(PickleTest, DamageIsASentence) {
    expect_refused("", "cut short");
    expect_refused(bytes_of("\x80\x02"), "cut short");
    expect_refused(bytes_of("\x80\x06."), "protocol 6");
    expect_refused(".", "takes a value where there is none");
    expect_refused("N(.", "takes a value where there is none");
    expect_refused("t.", "a mark that is not there");
    expect_refused("h\x05.", "recalls value 5");
    expect_refused("Na.", "takes a value where there is none");
    expect_refused("NNa.", "fills no container");
    expect_refused("}(Nu.", "a key has no value");
    expect_refused("NNb.", "no object");
    expect_refused("NN\x93.", "a name is no text");
    expect_refused("cos", "a name has no end");
    expect_refused("I5\n.", "0x49");
    expect_refused(bytes_of("X\xff\xff\xff\xff") + "abc", "4294967295 bytes are needed");
    expect_refused(bytes_of("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "bytes are needed");
    expect_refused(bytes_of("\x95\xff\xff\xff\xff\xff\xff\xff\xff."), "a frame has");
}

TEST(PickleTest, MemoryIsBoundedByTheSizeOfThePickle) {
    // Each operation of one byte; the budget of such a small pickle is that of a large one.
    for (const char op : {'}', ']', '\x8f', '(', '2'}) {
        const std::string bytes = "N" + std::string(100'000, op);
        const auto pickle = Pickle::parse(bytes, "a.pkl", 500'000);
        ASSERT_FALSE(pickle) << op;
        EXPECT_THAT(pickle.error().message, HasSubstr("take more than 488 KiB of memory")) << op;
    }
    // Values that are alike are one.
    EXPECT_TRUE(Pickle::parse("(" + std::string(10'000, 'N') + "t.", "a.pkl", 500'000));
    // A place far beyond what was kept.
    const auto sparse = Pickle::parse("Nr" + bytes_of("\xff\xff\xff\x7f") + ".", "a.pkl");
    ASSERT_FALSE(sparse);
    EXPECT_THAT(sparse.error().message, HasSubstr("of memory"));
}

TEST(PickleTest, AValueThatIsKeptAgainCountsOnce) {
    // pickle.loads(b"\x80\x04K\x01q\x000K\x02q\x000K\x03\x940h\x01."): place 0 twice, so that MEMOIZE takes place 1
    const Pickle pickle =
        parsed(bytes_of("\x80\x04K\x01q\x00"
                        "0K\x02q\x00"
                        "0K\x03\x94"
                        "0h\x01."));
    EXPECT_EQ(pickle.integer(pickle.root()), 3);
}

}  // namespace
}  // namespace plimsoll
