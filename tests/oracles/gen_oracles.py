# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of this folder anew, by running the real classes of DeepSpeed, torch and transformers on the CPU.

    gen_oracles.py [NAME...] [--out DIR]   NAME: loss_scale gradscaler lr mem params elasticity; none: all but the last
    gen_oracles.py --check                 exit code 1 where a table is not what these packages give

elasticity needs DeepSpeed 0.18.9: later releases dropped it. The other tables are those of the packages that
packaging/deps-deepspeed installs.
"""

import argparse
import filecmp
import json
import logging
import os
import sys
import tempfile
import warnings

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = HERE
import torch


def save(name, obj):
    def enc(o):  # one trace per line keeps the files readable and small
        return json.dumps(o, separators=(", ", ": "))

    head = {k: v for k, v in obj.items() if k != "cases"}
    with open(os.path.join(OUT, name), "w") as f:
        f.write(
            json.dumps(head, indent=1)[:-2]
            + ',\n "cases": [\n  '
            + ",\n  ".join(enc(c) for c in obj["cases"])
            + "\n ]\n}\n"
        )
    print(name, len(obj["cases"]), "cases")


def patterns():
    P = {}
    P["none_x30"] = [0] * 30
    P["one_at_5"] = [0] * 5 + [1] + [0] * 24
    P["two_consecutive"] = [0] * 3 + [1, 1] + [0] * 25
    P["three_consecutive_first"] = [1, 1, 1] + [0] * 27
    P["isolated_every_4"] = ([0, 0, 0, 1] * 8)[:32]
    P["alternating"] = [0, 1] * 12
    P["all_overflow_x20"] = [1] * 20
    P["window_edge"] = [0] * 9 + [1] + [0] * 10 + [1] + [0] * 12
    P["burst_then_recover"] = [1] * 6 + [0] * 26 + [1, 0, 1] + [0] * 5
    P["long_220_with_3"] = [1 if i in (0, 57, 58) else 0 for i in range(220)]
    return P


def loss_scale():
    import deepspeed

    logging.disable(logging.CRITICAL)
    from deepspeed.runtime.fp16 import loss_scaler as LS

    LS.dist.get_rank = lambda *a: 0
    from deepspeed.runtime.precision_config import DeepSpeedFP16Config

    cases, P = [], patterns()
    grid = []
    for hyst in (1, 2, 4):
        for win in (2, 10):
            for cons in (False, True):
                for pat in (
                    "one_at_5",
                    "two_consecutive",
                    "three_consecutive_first",
                    "isolated_every_4",
                    "alternating",
                    "window_edge",
                    "burst_then_recover",
                ):
                    grid.append((16, win, hyst, cons, 1, pat))
    for hyst, cons in ((1, False), (2, False), (2, True), (4, False)):
        grid.append((16, 100, hyst, cons, 1, "long_220_with_3"))
    grid += [(16, 1000, 2, False, 1, "none_x30"), (16, 10, 1, False, 1, "none_x30"), (16, 1, 2, False, 1, "none_x30")]
    grid += [
        (4, 10, 1, False, 1, "all_overflow_x20"),
        (4, 10, 2, False, 1, "all_overflow_x20"),
        (4, 10, 2, True, 1, "all_overflow_x20"),
        (8, 10, 1, False, 16, "all_overflow_x20"),
        (3, 2, 2, False, 4, "burst_then_recover"),
    ]
    grid += [(16, 10, 0, False, 1, "all_overflow_x20"), (2, 10, 1, False, 8, "all_overflow_x20")]
    for isp, win, hyst, cons, mn, pat in grid:
        c = DeepSpeedFP16Config(
            enabled=False,
            initial_scale_power=isp,
            loss_scale_window=win,
            hysteresis=hyst,
            consecutive_hysteresis=cons,
            min_loss_scale=mn,
        )
        s = LS.CreateLossScaler(
            dtype=torch.half, static_loss_scale=0, dynamic_scaling=True, dynamic_loss_args=c.dynamic_loss_scale_args()
        )
        seq, hy, err = [s.cur_scale], [s.cur_hysteresis], None
        for i, o in enumerate(P[pat]):
            try:
                s.update_scale(bool(o))
            except Exception as e:
                err = dict(at_step=i, type=type(e).__name__, message=str(e))
                break
            seq.append(s.cur_scale)
            hy.append(s.cur_hysteresis)
        cases.append(
            dict(
                config=dict(
                    initial_scale_power=isp,
                    loss_scale_window=win,
                    hysteresis=hyst,
                    consecutive_hysteresis=cons,
                    min_loss_scale=mn,
                ),
                pattern=pat,
                overflow=P[pat][: len(seq) - 1 + (err is not None)],
                scale=seq,
                cur_hysteresis=hy,
                error=err,
            )
        )
    save(
        "loss_scale_traces.json",
        dict(
            source="deepspeed %s runtime/fp16/loss_scaler.py DynamicLossScaler (ZeRO stages 1, 2, 3)"
            % deepspeed.__version__,
            fields="overflow[i] = did step i overflow (1 = skipped); scale[0] = initial, scale[i+1] = after step i; cur_hysteresis likewise; error = the exception that step at_step raised (raise_error_at_min_scale is always on)",
            note="the step that grows the scale is itself unscaled with the NEW scale by ZeRO 1/2/3 (update_scale runs before unscale_and_clip_grads), so its gradient is half size",
            cases=cases,
        ),
    )


def gradscaler():
    cases, P = [], patterns()
    grid = [
        (65536.0, 2.0, 0.5, iv, pat)
        for iv in (2, 10)
        for pat in (
            "one_at_5",
            "two_consecutive",
            "isolated_every_4",
            "alternating",
            "all_overflow_x20",
            "window_edge",
            "burst_then_recover",
        )
    ]
    grid += [
        (65536.0, 2.0, 0.5, 100, "long_220_with_3"),
        (65536.0, 2.0, 0.5, 2000, "none_x30"),
        (65536.0, 2.0, 0.5, 1, "none_x30"),
        (4.0, 4.0, 0.25, 5, "window_edge"),
        (2.0**120, 2.0, 0.5, 2, "none_x30"),
        (1.0, 2.0, 0.5, 10, "all_overflow_x20"),
    ]
    for init, gf, bf, iv, pat in grid:
        p = torch.nn.Parameter(torch.zeros(2))
        opt = torch.optim.SGD([p], lr=0.0)
        s = torch.amp.GradScaler("cpu", init_scale=init, growth_factor=gf, backoff_factor=bf, growth_interval=iv)
        seq, tr, sk = [s.get_scale()], [0], []
        for o in P[pat]:
            opt.zero_grad(set_to_none=False)
            s.scale(torch.ones(()))  # creates the scale tensor
            p.grad = torch.full((2,), float("inf") if o else 1.0)
            before = [0]
            real = opt.step
            opt.step = lambda *a, **k: before.__setitem__(0, 1)
            s.step(opt)
            opt.step = real
            s.update()
            seq.append(s.get_scale())
            tr.append(s._get_growth_tracker())
            sk.append(1 - before[0])
        assert sk == P[pat], (sk, P[pat])
        cases.append(
            dict(
                config=dict(init_scale=init, growth_factor=gf, backoff_factor=bf, growth_interval=iv),
                pattern=pat,
                overflow=P[pat],
                scale=seq,
                growth_tracker=tr,
            )
        )
    save(
        "gradscaler_traces.json",
        dict(
            source='torch %s torch.amp.GradScaler("cpu")' % torch.__version__,
            rule=[
                "if any inf/NaN: scale = float32(scale * backoff_factor); tracker = 0; the step is skipped",
                "else: tracker += 1; when tracker == growth_interval: new = float32(scale * growth_factor); scale = new only when new is finite; tracker = 0",
                "no minimum: the scale goes below 1 and can reach 0; the unscale of a step always uses the scale that its loss was multiplied by",
            ],
            fields="overflow[i] = did step i see inf (1 = optimizer step skipped); scale[0] initial, scale[i+1] after update() of step i",
            cases=cases,
        ),
    )


def lr():
    import deepspeed, transformers, inspect

    logging.disable(logging.CRITICAL)
    from deepspeed.runtime import lr_schedules as S
    from transformers import optimization as T

    cases = []

    def opt(lr=1e-3):
        return torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=lr, betas=(0.9, 0.95))

    def ds(name, n, base=1e-3, pick=None, **kw):
        o = opt(base)
        s = getattr(S, name)(o, **kw)
        v, mom = [], []
        for k in range(n):  # the LR that optimizer update k uses; then the engine calls scheduler.step()
            v.append([k, float(o.param_groups[0]["lr"])])
            mom.append(float(o.param_groups[0]["betas"][0]))
            s.step()
        c = dict(
            lib="deepspeed",
            schedule=name,
            optimizer_lr=base,
            params=kw,
            values=[x for x in v if pick is None or x[0] in pick],
        )
        if name == "OneCycle" and kw.get("cycle_momentum", True):
            c["momentum"] = [[k, m] for k, m in enumerate(mom) if pick is None or k in pick]
        cases.append(c)

    for wt in ("log", "linear"):
        ds("WarmupLR", 15, warmup_min_lr=0.0, warmup_max_lr=1e-3, warmup_num_steps=10, warmup_type=wt)
        ds("WarmupLR", 12, warmup_min_lr=1e-5, warmup_max_lr=6e-5, warmup_num_steps=8, warmup_type=wt)
        ds(
            "WarmupDecayLR",
            34,
            total_num_steps=30,
            warmup_min_lr=0.0,
            warmup_max_lr=1e-3,
            warmup_num_steps=10,
            warmup_type=wt,
        )
        ds(
            "WarmupCosineLR",
            34,
            base=6e-5,
            total_num_steps=30,
            warmup_min_ratio=0.0,
            warmup_num_steps=10,
            cos_min_ratio=0.1,
            warmup_type=wt,
        )
    ds("WarmupLR", 5, base=5e-4, warmup_num_steps=1)
    ds("WarmupLR", 14, base=5e-4, warmup_num_steps=10)  # warmup_max_lr left out: 0.19.8 takes the optimizer's lr
    ds("WarmupDecayLR", 12, total_num_steps=8, warmup_num_steps=10, warmup_max_lr=1e-3, warmup_type="linear")
    ds("WarmupCosineLR", 34, base=1e-3, total_num_steps=30, warmup_min_ratio=0.01, warmup_num_steps=10)
    ds(
        "WarmupCosineLR",
        3001,
        base=6e-5,
        pick=set(range(0, 3001, 100)) | {1, 2, 99, 999, 1001},
        total_num_steps=3000,
        warmup_num_steps=1000,
        warmup_type="linear",
        cos_min_ratio=0.1,
    )
    ds(
        "OneCycle",
        45,
        cycle_min_lr=1e-5,
        cycle_max_lr=1e-3,
        cycle_first_step_size=10,
        cycle_second_step_size=15,
        decay_step_size=5,
        decay_lr_rate=0.5,
        decay_mom_rate=0.01,
    )
    ds("OneCycle", 30, cycle_min_lr=1e-5, cycle_max_lr=1e-3, cycle_first_step_size=10)
    ds(
        "OneCycle",
        25,
        cycle_min_lr=1e-5,
        cycle_max_lr=1e-3,
        cycle_first_step_size=10,
        cycle_first_stair_count=5,
        cycle_second_stair_count=2,
        cycle_momentum=False,
    )
    ds(
        "LRRangeTest",
        12,
        lr_range_test_min_lr=1e-4,
        lr_range_test_step_size=4,
        lr_range_test_step_rate=1.0,
        lr_range_test_staircase=False,
    )
    ds(
        "LRRangeTest",
        12,
        lr_range_test_min_lr=1e-4,
        lr_range_test_step_size=4,
        lr_range_test_step_rate=2.0,
        lr_range_test_staircase=True,
    )

    def hf(fn, n, base=1e-3, **kw):
        f = getattr(T, fn, None)
        if f is None:
            return
        o = opt(base)
        s = f(o, **kw)
        v = []
        for k in range(n):
            v.append([k, float(o.param_groups[0]["lr"])])
            o.step()
            s.step()
        cases.append(dict(lib="transformers", schedule=fn, optimizer_lr=base, params=kw, values=v))

    hf("get_cosine_schedule_with_warmup", 34, num_warmup_steps=10, num_training_steps=30)
    hf("get_cosine_schedule_with_warmup", 22, num_warmup_steps=0, num_training_steps=20, num_cycles=1.0)
    hf(
        "get_cosine_with_hard_restarts_schedule_with_warmup",
        44,
        num_warmup_steps=10,
        num_training_steps=40,
        num_cycles=3,
    )
    hf("get_linear_schedule_with_warmup", 34, num_warmup_steps=10, num_training_steps=30)
    hf("get_constant_schedule_with_warmup", 14, num_warmup_steps=10)
    hf(
        "get_polynomial_decay_schedule_with_warmup",
        34,
        num_warmup_steps=10,
        num_training_steps=30,
        lr_end=1e-7,
        power=2.0,
    )
    hf("get_inverse_sqrt_schedule", 34, num_warmup_steps=10)
    hf("get_cosine_with_min_lr_schedule_with_warmup", 34, num_warmup_steps=10, num_training_steps=30, min_lr_rate=0.1)
    hf(
        "get_cosine_with_min_lr_schedule_with_warmup_lr_rate",
        34,
        num_warmup_steps=10,
        num_training_steps=30,
        min_lr_rate=0.1,
        warmup_lr_rate=0.02,
    )
    for wt in ("linear", "cosine", "1-sqrt"):
        for dt in ("linear", "cosine", "1-sqrt"):
            if wt == "linear" or wt == dt:
                hf(
                    "get_wsd_schedule",
                    44,
                    num_warmup_steps=8,
                    num_decay_steps=12,
                    num_training_steps=40,
                    warmup_type=wt,
                    decay_type=dt,
                    min_lr_ratio=0.1,
                )
    hf("get_wsd_schedule", 34, num_warmup_steps=5, num_decay_steps=10, num_stable_steps=15)
    save(
        "lr_schedules.json",
        dict(
            source="deepspeed %s runtime/lr_schedules.py; transformers %s optimization.py; torch %s"
            % (deepspeed.__version__, transformers.__version__, torch.__version__),
            fields="values = [update index k from 0, learning rate that update k uses]; the scheduler is stepped once after every update",
            cases=cases,
        ),
    )


def mem():
    import deepspeed
    from deepspeed.runtime.zero import stage_1_and_2 as Z2, stage3 as Z3

    cases = []
    sizes = [
        (124e6, 38.6e6),
        (355e6, 51.5e6),
        (1.3e9, 103e6),
        (2.7e9, 129e6),
        (6.7e9, 131e6),
        (13e9, 164e6),
        (30e9, 229e6),
        (65e9, 262e6),
        (70e9, 262e6),
        (175e9, 617e6),
    ]
    for tp, ll in sizes:
        tp, ll = int(tp), int(ll)
        for g, n in ((1, 1), (8, 1), (8, 4), (8, 16), (4, 2)):
            for off in (True, False):
                c, gpu = Z2.estimate_zero2_model_states_mem_needs(
                    total_params=tp, num_gpus_per_node=g, num_nodes=n, cpu_offload=off, additional_buffer_factor=1.5
                )
                cases.append(
                    dict(
                        stage=2,
                        total_params=tp,
                        gpus_per_node=g,
                        nodes=n,
                        cpu_offload=off,
                        cpu_bytes_per_node=int(c),
                        gpu_bytes=int(gpu),
                    )
                )
            for off, offp, zi in (
                (True, True, True),
                (True, True, False),
                (True, False, True),
                (True, False, False),
                (False, False, True),
                (False, False, False),
            ):
                c, gpu, lm = Z3.estimate_zero3_model_states_mem_needs(
                    total_params=tp,
                    largest_layer_params=ll,
                    num_gpus_per_node=g,
                    num_nodes=n,
                    cpu_offload=off,
                    cpu_offload_params=offp,
                    zero_init=zi,
                    additional_buffer_factor=1.5,
                )
                cases.append(
                    dict(
                        stage=3,
                        total_params=tp,
                        largest_layer_params=ll,
                        gpus_per_node=g,
                        nodes=n,
                        offload_optimizer=off,
                        offload_param=offp,
                        zero_init=zi,
                        cpu_bytes_per_node=int(c),
                        gpu_bytes=int(gpu),
                        largest_layer_bytes=int(lm),
                    )
                )
    save(
        "deepspeed_mem_estimates.json",
        dict(
            source="deepspeed %s estimate_zero2_model_states_mem_needs / estimate_zero3_model_states_mem_needs"
            % deepspeed.__version__,
            fields="bytes; additional_buffer_factor 1.5; model states only, no activations",
            cases=cases,
        ),
    )


def params():
    import transformers as t

    cases = []

    def one(name, cfg, cls, layers_of, **kw):
        with torch.device("meta"):
            m = cls(cfg)
        P = dict(m.named_parameters())
        total = sum(p.numel() for p in P.values())  # tied weights counted once
        emb = sum(
            p.numel()
            for n, p in P.items()
            if m.get_input_embeddings() is not None and p is m.get_input_embeddings().weight
        )
        out = m.get_output_embeddings()
        tied = out is not None and m.get_input_embeddings() is not None and (cfg.tie_word_embeddings)
        head = 0 if out is None or tied or out.weight is m.get_input_embeddings().weight else out.weight.numel()
        lay = [sum(p.numel() for p in l.parameters()) for l in layers_of(m)]
        cases.append(
            dict(
                name=name,
                model=cls.__name__,
                config=kw,
                tie_word_embeddings=bool(cfg.tie_word_embeddings),
                total=total,
                total_if_untied_counted_twice=total + (emb if head == 0 and out is not None else 0),
                input_embedding=emb,
                output_head=head,
                layers=len(lay),
                per_layer=lay[0] if len(set(lay)) == 1 else sorted(set(lay)),
                other=total - emb - head - sum(lay),
                largest_module_params=max([p.numel() for p in P.values()]),
            )
        )

    L = lambda m: m.model.layers

    def llama(name, **k):
        one(name, t.LlamaConfig(**k), t.LlamaForCausalLM, L, **k)

    llama(
        "llama-7b",
        vocab_size=32000,
        hidden_size=4096,
        intermediate_size=11008,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=32,
    )
    llama(
        "llama-13b",
        vocab_size=32000,
        hidden_size=5120,
        intermediate_size=13824,
        num_hidden_layers=40,
        num_attention_heads=40,
        num_key_value_heads=40,
    )
    llama(
        "llama-33b",
        vocab_size=32000,
        hidden_size=6656,
        intermediate_size=17920,
        num_hidden_layers=60,
        num_attention_heads=52,
        num_key_value_heads=52,
    )
    llama(
        "llama-65b",
        vocab_size=32000,
        hidden_size=8192,
        intermediate_size=22016,
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=64,
    )
    llama(
        "llama2-70b",
        vocab_size=32000,
        hidden_size=8192,
        intermediate_size=28672,
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=8,
    )
    llama(
        "llama3-8b",
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    )
    llama(
        "llama3-70b",
        vocab_size=128256,
        hidden_size=8192,
        intermediate_size=28672,
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=8,
    )
    llama(
        "llama3.1-405b",
        vocab_size=128256,
        hidden_size=16384,
        intermediate_size=53248,
        num_hidden_layers=126,
        num_attention_heads=128,
        num_key_value_heads=8,
    )
    llama(
        "llama3.2-1b",
        vocab_size=128256,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        tie_word_embeddings=True,
    )
    llama(
        "tinyllama-1.1b",
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
    )

    def gpt2(name, **k):
        one(
            name,
            t.GPT2Config(vocab_size=50257, n_positions=1024, **k),
            t.GPT2LMHeadModel,
            lambda m: m.transformer.h,
            vocab_size=50257,
            n_positions=1024,
            **k,
        )

    gpt2("gpt2", n_embd=768, n_layer=12, n_head=12)
    gpt2("gpt2-medium", n_embd=1024, n_layer=24, n_head=16)
    gpt2("gpt2-large", n_embd=1280, n_layer=36, n_head=20)
    gpt2("gpt2-xl", n_embd=1600, n_layer=48, n_head=25)
    k = dict(vocab_size=50257, n_positions=2048, n_embd=12288, n_layer=96, n_head=96)
    one("gpt3-175b-shape", t.GPT2Config(**k), t.GPT2LMHeadModel, lambda m: m.transformer.h, **k)
    k = dict(vocab_size=50257, n_positions=2048, n_embd=5120, n_layer=40, n_head=40)
    one("gpt3-13b-shape", t.GPT2Config(**k), t.GPT2LMHeadModel, lambda m: m.transformer.h, **k)
    k = dict(
        vocab_size=32000,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    )
    one("mistral-7b", t.MistralConfig(**k), t.MistralForCausalLM, L, **k)
    kk = dict(k, num_local_experts=8, num_experts_per_tok=2)
    one("mixtral-8x7b", t.MixtralConfig(**kk), t.MixtralForCausalLM, L, **kk)
    kk = dict(
        vocab_size=32768,
        hidden_size=6144,
        intermediate_size=16384,
        num_hidden_layers=56,
        num_attention_heads=48,
        num_key_value_heads=8,
        num_local_experts=8,
        num_experts_per_tok=2,
    )
    one("mixtral-8x22b", t.MixtralConfig(**kk), t.MixtralForCausalLM, L, **kk)
    for n, v, h, i, l, a, kv, tie in (
        ("qwen2.5-0.5b", 151936, 896, 4864, 24, 14, 2, True),
        ("qwen2.5-1.5b", 151936, 1536, 8960, 28, 12, 2, True),
        ("qwen2.5-7b", 152064, 3584, 18944, 28, 28, 4, False),
        ("qwen2.5-72b", 152064, 8192, 29568, 80, 64, 8, False),
    ):
        kk = dict(
            vocab_size=v,
            hidden_size=h,
            intermediate_size=i,
            num_hidden_layers=l,
            num_attention_heads=a,
            num_key_value_heads=kv,
            tie_word_embeddings=tie,
        )
        one(n, t.Qwen2Config(**kk), t.Qwen2ForCausalLM, L, **kk)
    kk = dict(
        vocab_size=151936,
        hidden_size=4096,
        intermediate_size=12288,
        num_hidden_layers=36,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
    )
    one("qwen3-8b", t.Qwen3Config(**kk), t.Qwen3ForCausalLM, L, **kk)
    kk = dict(
        vocab_size=151936,
        hidden_size=2048,
        intermediate_size=6144,
        moe_intermediate_size=768,
        num_hidden_layers=48,
        num_attention_heads=32,
        num_key_value_heads=4,
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        decoder_sparse_step=1,
    )
    one("qwen3-30b-a3b", t.Qwen3MoeConfig(**kk), t.Qwen3MoeForCausalLM, L, **kk)
    for n, dm, dff, dkv, nl, nh, ff in (
        ("t5-base", 768, 3072, 64, 12, 12, "relu"),
        ("t5-large", 1024, 4096, 64, 24, 16, "relu"),
        ("t5-3b", 1024, 16384, 128, 24, 32, "relu"),
        ("t5-11b", 1024, 65536, 128, 24, 128, "relu"),
        ("t5-v1.1-xxl", 4096, 10240, 64, 24, 64, "gated-gelu"),
    ):
        kk = dict(
            vocab_size=32128,
            d_model=dm,
            d_ff=dff,
            d_kv=dkv,
            num_layers=nl,
            num_heads=nh,
            feed_forward_proj=ff,
            tie_word_embeddings=(ff == "relu"),
        )
        one(
            n,
            t.T5Config(**kk),
            t.T5ForConditionalGeneration,
            lambda m: list(m.encoder.block) + list(m.decoder.block),
            **kk,
        )
    kk = dict(vocab_size=30522, hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16)
    one("bert-large", t.BertConfig(**kk), t.BertForMaskedLM, lambda m: m.bert.encoder.layer, **kk)
    kk = dict(vocab_size=50280, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, intermediate_size=16384)
    one(
        "neox-6.9b-shape",
        t.GPTNeoXConfig(**dict(kk, vocab_size=50432)),
        t.GPTNeoXForCausalLM,
        lambda m: m.gpt_neox.layers,
        **dict(kk, vocab_size=50432),
    )
    kk = dict(
        vocab_size=256000,
        hidden_size=3072,
        intermediate_size=24576,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=16,
        head_dim=256,
    )
    one("gemma-7b", t.GemmaConfig(**kk), t.GemmaForCausalLM, L, **kk)
    save(
        "param_counts.json",
        dict(
            source='transformers %s, models built on torch.device("meta")' % t.__version__,
            fields="total = named_parameters (tied weights once); per_layer = one decoder/encoder layer (a list when layers differ); other = positions, final norms and the like",
            cases=cases,
        ),
    )


def elasticity():  # needs a DeepSpeed that still has it (up to 0.19.7)
    import deepspeed

    logging.disable(logging.CRITICAL)
    from deepspeed.elasticity import compute_elastic_config

    cases = []

    def run(e, world):
        c = {"elasticity": dict(enabled=True, **e)}
        try:
            r = compute_elastic_config(
                ds_config=c,
                target_deepspeed_version=deepspeed.__version__,
                world_size=world,
                return_microbatch=bool(world),
            )
            out = dict(final_batch_size=int(r[0]), valid_gpus_count=len(r[1]), valid_gpus=[int(x) for x in r[1]][:64])
            if len(r) > 2:
                out.update(
                    micro_batch=None if r[2] is None else int(r[2]),
                    gradient_accumulation_steps=None if not world or r[2] is None else int(r[0]) // (int(r[2]) * world),
                )
        except Exception as x:
            out = dict(error=type(x).__name__, message=" ".join(str(x).split())[:160])
        cases.append(dict(elasticity=e, world_size=world, result=out))

    for mx, mb, lo, hi in (
        (2000, [2, 4, 6], 1, 10000),
        (10000, [8, 12, 16, 17], 32, 1500),
        (1024, [1, 2, 4, 8], 1, 64),
        (32, [1, 2], 1, 16),
        (512, [3, 5], 1, 100),
        (4, [8], 1, 8),
        (1024, [4], 8, 8),
        (1000, [7], 1, 1000),
    ):
        for pl in (True, False):
            for w in (0, 8, 64):
                run(
                    dict(
                        max_train_batch_size=mx,
                        micro_batch_sizes=mb,
                        min_gpus=lo,
                        max_gpus=hi,
                        min_time=20,
                        version=0.1,
                        prefer_larger_batch=pl,
                    ),
                    w,
                )
    for w in (8, 16, 24, 64):
        run(
            dict(
                max_train_batch_size=1024,
                micro_batch_sizes=[1, 2, 4, 8],
                min_gpus=8,
                max_gpus=64,
                min_time=0,
                version=0.2,
                num_gpus_per_node=8,
                model_parallel_size=2,
            ),
            w,
        )
    run(
        dict(
            max_train_batch_size=1024,
            micro_batch_sizes=[1, 2],
            min_gpus=8,
            max_gpus=64,
            version=0.2,
            num_gpus_per_node=8,
            model_parallel_size=3,
        ),
        8,
    )
    run(dict(max_train_batch_size=1024, micro_batch_sizes=[1, 2], version=0.3), 8)
    run(dict(max_train_batch_size=1024, micro_batch_sizes=[1, 2], version=0.1, model_parallel_size=2), 8)
    run(dict(micro_batch_sizes=[1, 2]), 8)
    run(dict(max_train_batch_size=8), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=[0]), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=2), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=[2.5]), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=[2], min_gpus=0), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=[2], min_gpus=9, max_gpus=8), 8)
    run(dict(max_train_batch_size=8, micro_batch_sizes=[2], min_time=-1), 8)
    save(
        "elasticity_traces.json",
        dict(
            source="deepspeed %s elasticity/elasticity.py compute_elastic_config" % deepspeed.__version__,
            fields="world_size 0 = only the batch and the list; valid_gpus is cut at 64 entries",
            cases=cases,
        ),
    )


def unlike(folder):
    """Tables of the folder that differ from those that stand here."""
    return [
        name
        for name in sorted(os.listdir(folder))
        if not filecmp.cmp(os.path.join(folder, name), os.path.join(HERE, name), shallow=False)
    ]


def main():
    global OUT
    usual = {"loss_scale": loss_scale, "gradscaler": gradscaler, "lr": lr, "mem": mem, "params": params}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *usual, "elasticity"])
    parser.add_argument("--out", default=HERE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    makers = usual | {"elasticity": elasticity}
    with tempfile.TemporaryDirectory() as fresh:
        OUT = fresh if options.check else options.out
        for name in options.names or usual:
            makers[name]()
        if options.check and (found := unlike(fresh)):
            sys.exit(f"not what gen_oracles.py writes: {', '.join(found)}")


if __name__ == "__main__":
    main()
