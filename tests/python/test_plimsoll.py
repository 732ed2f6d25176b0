# SPDX-License-Identifier: Apache-2.0
"""The installed module says what the terminal says."""
import ast
import copy
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import plimsoll

PROGRAM = os.environ["PLIMSOLL_PROGRAM"]
STUBS = pathlib.Path(os.environ["PLIMSOLL_STUBS"])
# Without the package's presets: the program reads those of the source tree.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PLIMSOLL_DATA"}


def terminal(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT)


def terminal_json(*arguments):
    return json.loads(terminal(*arguments, "--json").stdout)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_bad(self, words, call, *arguments, **keywords):
        """BadInput with one sentence that says the words."""
        with self.assertRaises(plimsoll.BadInput) as raised:
            call(*arguments, **keywords)
        self.assertIn(words, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))
        self.assertIsInstance(raised.exception, ValueError)


class PlanTest(Case):
    def test_everything_comes_from_the_package(self):
        self.assertIn("site-packages", plimsoll.__file__)
        self.assertTrue(os.environ["PLIMSOLL_DATA"].startswith(os.path.dirname(plimsoll.__file__)))
        self.assertIn("site-packages", plimsoll._plimsoll.__file__)
        # Of the libraries that a plain system has not, the wheel's own are loaded.
        libraries = set(re.findall(r"\S+/lib(?:fmt|yaml-cpp|csv)\.so\S*", pathlib.Path("/proc/self/maps").read_text()))
        self.assertEqual({os.path.basename(library).split(".so")[0] for library in libraries}, {"libfmt", "libyaml-cpp"})
        for library in libraries:
            self.assertIn("site-packages/plimsoll/lib/", library)

    def test_settings_read_and_write(self):
        plan = plimsoll.Plan("llama-7b", gpu="H100 SXM", gpus_per_node=8,
                             settings={"layout.zero_stage": 3, "numerics.dtype": "bf16", "guard.clip": True})
        self.assertEqual(plan["cluster.gpu"], "H100 SXM5 80GB")
        self.assertEqual((plan["cluster.gpus_per_node"], plan["cluster.nodes"], plan["layout.dp"]), (8, 1, 8))
        self.assertEqual(plan["layout.zero_stage"], 3)
        self.assertIs(plan["guard.clip"], True)
        self.assertEqual(plan["layout"]["zero_stage"], 3)
        self.assertEqual(plan["model.hidden_size"], 4096)  # the preset's, which the document leaves out
        self.assertEqual((plan.world_size, plan.parameters), (8, 6738415616))
        plan["layout.dp"] = 4
        self.assertEqual(plan["layout.dp"], 4)
        self.assertTrue(plan.check())
        other = plan.with_settings({"layout.dp": 8})
        self.assertEqual((plan["layout.dp"], other["layout.dp"]), (4, 8))
        self.assertEqual(other.check(), [])
        for key in plan.keys():
            plan[key]

    def test_text_stays_text(self):
        plan = plimsoll.Plan()
        for text in ("1984", "true", 'a "quoted" = word', "Füße", ""):
            plan["data.path"] = text
            self.assertEqual(plan["data.path"], text)
        self.assert_bad("layout.dp is \"4\"", plan.__setitem__, "layout.dp", "4")

    def test_impossible_plans_say_why(self):
        plan = plimsoll.Plan("llama-7b", settings={"layout.tp": 3})
        problems = plan.check()
        self.assertTrue(problems)
        self.assertTrue(any(each.key == "layout.tp" for each in problems), problems)
        self.assert_bad(problems[0].sentence, plimsoll.estimate, plan)
        self.assert_bad(problems[0].sentence, plimsoll.step_time, plan)
        self.assert_bad(problems[0].sentence, plimsoll.export, plan, "deepspeed")

    def test_files(self):
        plan = plimsoll.Plan("llama-3-8b-8xh100", settings={"layout.micro_batch": 2})
        plan.save(self.folder / "plan.json")
        self.assertEqual(json.loads((self.folder / "plan.json").read_text()), plan.to_dict())
        for same in (plimsoll.Plan.load(self.folder / "plan.json"), plimsoll.Plan(str(self.folder / "plan.json")),
                     plimsoll.Plan.from_dict(plan.to_dict()), copy.copy(plan), copy.deepcopy(plan),
                     pickle.loads(pickle.dumps(plan))):
            self.assertEqual(same, plan)
        changed = copy.copy(plan)
        changed["layout.micro_batch"] = 1
        self.assertNotEqual(changed, plan)
        self.assertNotEqual(plan, "llama")

    def test_unknown_keys_warn_and_stay(self):
        document = plimsoll.Plan("cpu-demo").to_dict() | {"my_key": 1}
        (self.folder / "plan.json").write_text(json.dumps(document))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = plimsoll.Plan.load(self.folder / "plan.json")
        self.assertIn("my_key", str(caught[0].message))
        self.assertEqual(plan.to_dict()["my_key"], 1)

    def test_numbers_of_gpus(self):
        self.assertEqual(plimsoll.Plan("llama-7b", gpus=16)["cluster.nodes"], 2)
        plan = plimsoll.Plan("llama-7b", gpus=16, gpus_per_node=4)
        self.assertEqual((plan["cluster.gpus_per_node"], plan["cluster.nodes"], plan["layout.dp"]), (4, 4, 16))
        self.assert_bad("leave one of the three out", plimsoll.Plan, "llama-7b", gpus=10, gpus_per_node=4)
        self.assert_bad("gpus is 0", plimsoll.Plan, "llama-7b", gpus=0)
        self.assert_bad("gpus_per_node is -8", plimsoll.Plan, "llama-7b", gpus_per_node=-8)
        self.assert_bad("does not divide among 12 data-parallel ranks: take 8 or 16 GPUs", plimsoll.Plan, "llama-7b", gpus=12)
        plan = plimsoll.Plan("llama-7b", gpus=12, settings={"layout.accumulation": 21})
        self.assertEqual(plan.global_batch, 252)

    def test_bad_input(self):
        self.assert_bad("llama-7b", plimsoll.Plan, "lama-7b")
        self.assert_bad("H100", plimsoll.Plan, "llama-7b", gpu="H1000")
        self.assert_bad("layout.zero_stage", plimsoll.Plan, "llama-7b", settings={"layout.zero_stag": 1})
        self.assert_bad("0 to 3", plimsoll.Plan, "llama-7b", settings={"layout.zero_stage": 4})
        self.assert_bad("no setting", plimsoll.Plan().__getitem__, "layout.dpp")
        self.assert_bad("no setting", plimsoll.Plan().__getitem__, "layout.dp.x")
        self.assert_bad("no setting", plimsoll.Plan().__setitem__, "layout.dp=1", 1)
        self.assert_bad("none.json", plimsoll.Plan.load, self.folder / "none.json")
        (self.folder / "bad.json").write_text("{")
        self.assert_bad("bad.json, line 1", plimsoll.Plan.load, self.folder / "bad.json")
        self.assert_bad("plimsoll", plimsoll.Plan.from_dict, {})
        (self.folder / "folder").mkdir()
        with self.assertRaises((plimsoll.BadInput, plimsoll.Failed)):
            plimsoll.Plan().save(self.folder / "folder")


class FigureTest(Case):
    PLANS = (("cpu-demo", {}), ("llama-7b", {"layout.zero_stage": 3}),
             ("llama-2-70b-64xh100", {"layout.recompute": "selective"}), ("gpt-3-175b", {}),
             ("llama-3-8b-8xh100", {"layout.offload_optimizer": "cpu"}))

    def test_estimate_is_the_terminals(self):
        for name, settings in self.PLANS:
            with self.subTest(name):
                arguments = [f"{key}={value}" for key, value in settings.items()]
                expected = terminal_json("estimate", name, *(["--set", *arguments] if arguments else []))
                made = plimsoll.estimate(plimsoll.Plan(name, settings=settings))
                document = made.to_dict()
                for rank, of_terminal in zip(document["ranks"], expected["ranks"], strict=True):
                    self.assertEqual(rank, {key: of_terminal[key] for key in rank})
                for key in set(document) - {"ranks", "usable_bytes" if name == "cpu-demo" else ""}:
                    self.assertEqual(document[key], expected[key], key)
                self.assertEqual(made.parameters, expected["model"]["parameters"])
                fullest = max(expected["ranks"], key=lambda rank: rank["total_bytes"])
                self.assertEqual(made.total_bytes, fullest["total_bytes"])
                self.assertEqual([(term.key, term.name, term.category, term.bytes, term.formula, term.source)
                                  for term in made.terms],
                                 [(term["key"], term["name"], term["category"], term["bytes"], term["formula"],
                                   term["source"]) for term in fullest["terms"]])
                self.assertEqual(made.fits, made.total_bytes <= made.usable_bytes)
                self.assertEqual([rank.total_bytes for rank in made.ranks],
                                 [rank["total_bytes"] for rank in expected["ranks"]])
                self.assertEqual(made.interval, (fullest["low_bytes"], fullest["high_bytes"]))
                self.assertEqual(made.host_bytes, expected["host_bytes"])

    def test_other_frameworks(self):
        plan = plimsoll.Plan("llama-7b", gpus=8, settings={"layout.zero_stage": 0})
        for framework in ("deepspeed", "megatron", "torchtitan", "hf-trainer"):
            expected = terminal_json("estimate", "llama-7b", "--gpus", 8, "--set", "layout.zero_stage=0", "--framework",
                                     framework)
            made = plimsoll.estimate(plan, framework=framework)
            self.assertEqual(made.framework, framework)
            self.assertEqual(made.total_bytes, expected["ranks"][0]["total_bytes"])
            self.assertEqual(made.notes, expected["notes"])
        self.assertTrue(made.notes)
        self.assertFalse(plimsoll.estimate(plan).notes)
        self.assert_bad("layout.zero_stage", plimsoll.estimate, plimsoll.Plan("llama-7b", gpus=8), framework="hf-trainer")
        self.assert_bad("did you mean \"megatron\"", plimsoll.estimate, plan, framework="megatrom")

    def test_search_is_the_terminals(self):
        expected = terminal_json("plan", "llama-3-8b-8xh100", "--zero", "1,3", "--schedule", "1f1b", "--show", 7)
        found = plimsoll.search(plimsoll.Plan("llama-3-8b-8xh100"), zero_stage=[1, 3], schedule=["1f1b"], keep=7)
        self.assertEqual(len(found), len(expected["ranked"]))
        self.assertEqual([row.words for row in found], [row["words"] for row in expected["ranked"]])
        for row, of_terminal in zip(found.rows, expected["ranked"], strict=True):
            self.assertEqual(row.peak_bytes, of_terminal["peak_bytes"])
            self.assertAlmostEqual(row.step_seconds, of_terminal["step_seconds"])
            self.assertEqual(row.plan.check(), [])
            estimate = plimsoll.estimate(row.plan)
            self.assertEqual(estimate.total_bytes, row.peak_bytes)
            self.assertEqual(estimate.host_bytes, row.host_bytes)
            self.assertAlmostEqual(estimate.out_of_memory_probability, row.out_of_memory_probability)
            self.assertAlmostEqual(of_terminal["out_of_memory_probability"], row.out_of_memory_probability)
            self.assertLessEqual(row.out_of_memory_probability, 0.05)
        self.assertEqual(found.layouts, expected["counts"]["layouts"])
        self.assertIn(f"the best 7 of {found.layouts:,} layouts", repr(found))
        for keep in (1, 40):
            again = plimsoll.search(plimsoll.Plan("llama-3-8b-8xh100"), zero_stage=[1, 3], schedule=["1f1b"], keep=keep)
            self.assertEqual(again.layouts, found.layouts)
        self.assertEqual(found[-1].words, found.rows[-1].words)
        self.assertRaises(IndexError, lambda: found[len(found)])

    def test_search_is_for_the_framework_that_trains(self):
        plan = plimsoll.Plan("llama-3-8b-8xh100")
        for framework in ("deepspeed", "megatron", "torchtitan"):
            found = plimsoll.search(plan, framework=framework, keep=3)
            self.assertEqual(found.framework, framework)
            for row in found:
                estimate = plimsoll.estimate(row.plan, framework=framework)
                self.assertEqual(estimate.total_bytes, row.peak_bytes)
                self.assertLessEqual(estimate.out_of_memory_probability, 0.05)
        safe = plimsoll.search(plan, framework="torchtitan", keep=1)[0]
        risky = plimsoll.search(plan, framework="torchtitan", fit_probability=0, keep=1)[0]
        self.assertLessEqual(risky.step_seconds, safe.step_seconds)
        for row in plimsoll.search(plan, host_gib=64, keep=40):
            self.assertLessEqual(row.host_bytes * 8, 64 * 2**30)

    def test_search_that_finds_nothing_says_what_binds(self):
        found = plimsoll.search(plimsoll.Plan("gpt-3-175b", gpu="A100 SXM4 80GB", gpus=8), offload_optimizer=["none"])
        self.assertEqual(len(found), 0)
        self.assertTrue(found.binding)
        self.assertIn(found.binding, repr(found))

    def test_search_bad_input(self):
        plan = plimsoll.Plan("llama-3-8b-8xh100")
        self.assert_bad("did you mean \"memory\"", plimsoll.search, plan, objective="memorie")
        self.assert_bad("1f1b", plimsoll.search, plan, schedule=["2f2b"])
        self.assert_bad("headroom", plimsoll.search, plan, headroom=20)
        self.assert_bad("fit_probability", plimsoll.search, plan, fit_probability=95)
        self.assert_bad("host_gib", plimsoll.search, plan, host_gib=-1)
        self.assert_bad("did you mean \"megatron\"", plimsoll.search, plan, framework="megatrom")
        self.assert_bad("keep", plimsoll.search, plan, keep=0)

    def test_step_time(self):
        found = plimsoll.search(plimsoll.Plan("llama-3-8b-8xh100"), pp=[1], keep=1)
        step = plimsoll.step_time(found[0].plan)
        self.assertAlmostEqual(step.step_seconds, found[0].step_seconds)
        self.assertAlmostEqual(sum(step.parts.values()), step.step_seconds)
        self.assertAlmostEqual(step.tokens_per_second, step.tokens / step.step_seconds)

    def test_others_run_meanwhile(self):
        """A search of some tenths of a second must not hold the interpreter."""
        done = threading.Event()

        # Its batch of 256 does not divide among 4096.
        plan = plimsoll.Plan("gpt-3-175b", gpu="A100 SXM4 80GB", gpus=4096, settings={"layout.accumulation": 1})

        def look():
            plimsoll.search(plan, global_batch=4096, threads=1)
            done.set()

        thread = threading.Thread(target=look)
        thread.start()
        ticks = 0
        while not done.is_set():
            time.sleep(0.005)
            ticks += 1
        thread.join()
        self.assertGreater(ticks, 3)


    def test_an_interrupt_ends_a_search(self):
        """Ctrl-C in a process of its own, in the middle of a search that takes longer."""
        code = ("import plimsoll, warnings, sys\n"
                "warnings.simplefilter('ignore')\n"
                "plan = plimsoll.Plan('gpt-3-175b', gpu='A100 SXM4 80GB', gpus=4096, settings={'layout.accumulation': 1})\n"
                "print('go', flush=True)\n"
                "while True: plimsoll.search(plan, global_batch=4096, threads=1)\n")
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "go\n")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)


class LintTest(Case):
    def test_verdicts_are_the_terminals(self):
        cases = ({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0}, {"train_batch_size": 10},
                 {"train_batch_size": 64, "fp16": {"enabled": True}, "bf16": {"enabled": True}},
                 {"train_batch_size": 64, "zero_optimisation": {"stage": 2}})
        for number, config in enumerate(cases):
            path = self.folder / f"{number}.json"
            path.write_text(json.dumps(config))
            for release in ("0.19.8", "0.14.4"):
                found = terminal("lint", path, "--world", 8, "--release", release, "--json")
                expected = json.loads(found.stdout)
                for given in (config, path, str(path)):
                    lint = plimsoll.lint(given, world=8, release=release)
                    self.assertEqual(lint.to_dict(), expected)
                    self.assertEqual(0 if lint.clean else 1, found.returncode)
                    self.assertEqual(len(lint), len(expected["findings"]))
        self.assertFalse(plimsoll.lint(cases[1], world=8).accepted)
        self.assertEqual(plimsoll.lint(cases[0], world=8).batch, (8, 1, 1))

    def test_plan_gives_the_launch(self):
        plan = plimsoll.Plan("llama-3-8b-8xh100")
        config = json.loads(plimsoll.export(plan, "deepspeed").text)
        lint = plimsoll.lint(config, plan=plan)
        self.assertTrue(lint.accepted)
        self.assertEqual(lint.batch[0], plan.global_batch)

    def test_bad_input(self):
        self.assert_bad("world is 0", plimsoll.lint, {}, world=0)
        self.assert_bad("0.3.1", plimsoll.lint, {}, release="0.3.1")
        self.assert_bad("none.json", plimsoll.lint, self.folder / "none.json")
        (self.folder / "bad.json").write_text("[")
        self.assert_bad("bad.json", plimsoll.lint, self.folder / "bad.json")
        self.assertRaises(TypeError, plimsoll.lint, {"key": object()})


class ExportTest(Case):
    def test_every_target_is_the_terminals(self):
        plan = plimsoll.Plan("llama-3-8b-8xh100")
        self.assertGreater(len(plimsoll.export_targets()), 15)
        for target in plimsoll.export_targets():
            with self.subTest(target.name):
                made = plimsoll.export(plan, target.name)
                self.assertTrue(made.text.strip())
                self.assertEqual(str(made), made.text)
                expected = terminal("export", target.name, "llama-3-8b-8xh100")
                self.assertEqual(made.text, expected.stdout)
                for note in made.notes:
                    self.assertIn(note, expected.stderr)
                made.save(self.folder / target.file_name)
                self.assertEqual((self.folder / target.file_name).read_text(), made.text)
        self.assert_bad("accelerate", plimsoll.export, plan, "acelerate")
        self.assertIn("pretrain_gpt.py", plimsoll.export(plan, "torchrun", program="megatron").text)
        self.assert_bad("is no launcher", plimsoll.export, plan, "env", "megatron")


class CatalogueTest(Case):
    def test_presets_and_gpus(self):
        presets = plimsoll.presets()
        self.assertEqual(presets["models"]["llama-7b"], 6738415616)
        self.assertIn("cpu-demo", presets["plans"])
        listed = terminal("presets").stdout
        for name in (*presets["plans"], *presets["models"], *(gpu.name for gpu in plimsoll.gpus())):
            self.assertIn(name[:25], listed)  # the terminal cuts longer ones
        for name in presets["models"]:
            self.assertEqual(plimsoll.Plan(name).check(), [], name)


class ReprTest(Case):
    def test_tables_hold_the_figures(self):
        plan = plimsoll.Plan("llama-7b", settings={"name": "<b>&\"mine\""})
        estimate = plimsoll.estimate(plan)
        html = estimate._repr_html_()
        for term in estimate.terms:
            self.assertIn(plimsoll._plimsoll.format_bytes(term.bytes), html)
        self.assertIn(f"{estimate.total_bytes:,}", html)
        self.assertIn("fits" if estimate.fits else "does not fit", html)
        found = plimsoll.search(plimsoll.Plan("llama-3-8b-8xh100"), keep=3)
        for row in found:
            self.assertIn(row.words.replace("<", "&lt;"), found._repr_html_())
        lint = plimsoll.lint({"train_batch_size": 10, "<script>": 1}, world=8)
        self.assertIn("refuses", lint._repr_html_())
        self.assertIn("batch-product", lint._repr_html_())
        step = plimsoll.step_time(plan)
        self.assertIn(plimsoll._plimsoll.format_seconds(step.step_seconds), step._repr_html_())
        export = plimsoll.export(plan, "megatron")
        self.assertIn("--num-layers", export._repr_html_())
        self.assertIn("6,738,415,616", plan._repr_html_())
        self.assertIn("&lt;b&gt;&amp;&quot;mine&quot;", html)
        self.assertIn("&lt;script&gt;", lint._repr_html_())
        for text in (html, plan._repr_html_(), lint._repr_html_(), export._repr_html_()):
            self.assertNotIn("<b>&", text)
            self.assertNotIn("<script>", text)

    def test_one_line_each(self):
        plan = plimsoll.Plan("llama-7b")
        for thing in (plan, plimsoll.estimate(plan), plimsoll.step_time(plan), plimsoll.estimate(plan).terms[0],
                      plimsoll.search(plan, keep=1), plimsoll.lint({}), plimsoll.export(plan, "env"), plimsoll.gpus()[0]):
            self.assertRegex(repr(thing), r"^<plimsoll\.\w+.*>$")


class StubTest(Case):
    def test_stubs_name_what_the_module_has(self):
        module = plimsoll._plimsoll
        named = {}
        for node in ast.parse(STUBS.read_text()).body:
            if isinstance(node, ast.ClassDef):
                named[node.name] = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            elif isinstance(node, ast.FunctionDef):
                named[node.name] = {each.arg for each in node.args.args + node.args.kwonlyargs}
        public = {name for name in dir(module) if not name.startswith("_")}
        self.assertEqual(set(named), public)
        for name in public:
            thing = getattr(module, name)
            if isinstance(thing, type):
                attributes = {each for each in dir(thing) if not each.startswith("_")}
                if not issubclass(thing, Exception):
                    self.assertEqual({each for each in named[name] if not each.startswith("_")}, attributes, name)
            else:
                for argument in named[name]:
                    self.assertIn(argument, thing.__doc__, name)
        self.assertEqual(set(plimsoll.__all__) - {"__version__"}, public - {"format_bytes", "format_seconds", "format_count"})


if __name__ == "__main__":
    unittest.main()
