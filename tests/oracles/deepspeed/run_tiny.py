# SPDX-License-Identifier: Apache-2.0
"""Train a tiny GPT with the REAL DeepSpeed on CPU ranks (gloo) from an exported JSON config.

  DS_ACCELERATOR=cpu python run_tiny.py --config ds.json --ranks 2 --steps 20 --out losses.json
  python run_tiny.py --reference --config ds.json --ranks 2 --steps 20 --out ref.json   # plain torch, no DeepSpeed
  ... --compare ref.json --tol 2e-4        # exit 1 when the curves differ
  ... --dump-init init.safetensors         # weights (fp32) that both engines must start from

Model, initial weights and data come from splitmix64, so that a C++ engine can make the same bits:
  u64 next():  s+=0x9E3779B97F4A7C15; z=s; z=(z^(z>>30))*0xBF58476D1CE4E5B9; z=(z^(z>>27))*0x94D049BB133111EB; return z^(z>>31)
  uniform01 = (next()>>11) * 2^-53
  Weights: one stream seeded with `seed`; parameters in sorted name order; 2-D: (2u-1)*0.08 in float64 then cast
  to fp32; LayerNorm weight = 1, every bias = 0 (these draw nothing).
  Data: stream seeded with seed ^ 0xD1B54A32D192ED03. First a table T[v] = next() % V for v in 0..V-1. Sample i
  (i = 0,1,2,...): t0 = next() % V; t[j+1] = T[t[j]] if next() % 8 else next() % V. seq+1 tokens;
  input t[0..seq-1], target t[1..seq].
  Global sample order of optimizer step k: for rank r, micro-step a, row b:
     index = ((k*ranks + r)*gas + a)*micro + b.
Loss of a step = mean over ranks and micro-steps of the mean token cross entropy, before the update.
"""

import argparse, json, math, os, socket, sys, time

V, D, L, H, S = 64, 32, 2, 2, 16
M64 = (1 << 64) - 1


class SplitMix64:
    def __init__(self, s):
        self.s = s & M64

    def next(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & M64
        z = self.s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        return z ^ (z >> 31)

    def u01(self):
        return (self.next() >> 11) * 2.0**-53


def make_model(seed):
    import torch, torch.nn as nn, torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1 = nn.LayerNorm(D)
            self.qkv = nn.Linear(D, 3 * D)
            self.proj = nn.Linear(D, D)
            self.ln2 = nn.LayerNorm(D)
            self.fc1 = nn.Linear(D, 4 * D)
            self.fc2 = nn.Linear(4 * D, D)

        def forward(self, x):
            B, T, _ = x.shape
            q, k, v = self.qkv(self.ln1(x)).split(D, dim=2)
            q, k, v = (t.view(B, T, H, D // H).transpose(1, 2) for t in (q, k, v))
            a = (q @ k.transpose(-2, -1)) / math.sqrt(D // H)
            a = a.masked_fill(torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1), float("-inf"))
            y = (F.softmax(a.float(), dim=-1).to(v.dtype) @ v).transpose(1, 2).reshape(B, T, D)
            x = x + self.proj(y)
            return x + self.fc2(F.gelu(self.fc1(self.ln2(x)), approximate="tanh"))

    class Tiny(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(V, D)
            self.wpe = nn.Embedding(S, D)
            self.h = nn.ModuleList(Block() for _ in range(L))
            self.lnf = nn.LayerNorm(D)
            self.head = nn.Linear(D, V, bias=False)

        def forward(self, x, y):
            h = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))
            for b in self.h:
                h = b(h)
            logits = self.head(self.lnf(h)).float()
            return F.cross_entropy(logits.view(-1, V), y.reshape(-1))

    m = Tiny()
    g = SplitMix64(seed)
    with torch.no_grad():
        for n, p in sorted(m.named_parameters()):
            if p.dim() == 2:
                flat = [(2 * g.u01() - 1) * 0.08 for _ in range(p.numel())]
                p.copy_(torch.tensor(flat, dtype=torch.float64).view_as(p).float())
            elif n.endswith("bias"):
                p.zero_()
            else:
                p.fill_(1.0)
    return m


def make_data(seed, count):
    import torch

    g = SplitMix64(seed ^ 0xD1B54A32D192ED03)
    T = [g.next() % V for _ in range(V)]
    rows = []
    for _ in range(count):
        t = [g.next() % V]
        for _ in range(S):
            t.append(T[t[-1]] if g.next() % 8 else g.next() % V)
        rows.append(t)
    return torch.tensor(rows, dtype=torch.long)


def batch_params(cfg, ranks):
    tb, mb, ga = (
        cfg.get(k) for k in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    )
    if mb is None and tb is not None:
        mb = tb // ranks // (ga or 1)
    if ga is None:
        ga = tb // mb // ranks if tb is not None else 1
    return mb, ga


def worker(rank, a, port, q):
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(a.ranks),
        LOCAL_SIZE=str(a.ranks),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["PATH"] = (
        os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    )  # one ninja: another version rebuilds the ops
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    import deepspeed

    cfg = json.load(open(a.config))
    mb, ga = batch_params(cfg, a.ranks)
    model = make_model(a.seed)
    t0 = time.time()
    engine, opt, _, sched = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=cfg)
    init_s = time.time() - t0
    data = make_data(a.seed, a.steps * a.ranks * ga * mb)
    recs, t0 = [], time.time()
    for k in range(a.steps):
        tot = 0.0
        lr = engine.get_lr()[0] if sched is not None or opt is not None else None
        for m in range(ga):
            i = ((k * a.ranks + rank) * ga + m) * mb
            d = data[i : i + mb]
            loss = engine(d[:, :-1], d[:, 1:])
            engine.backward(loss)
            tot += loss.item()
            engine.step()
        t = torch.tensor([tot / ga], dtype=torch.float64)
        torch.distributed.all_reduce(t)
        t /= a.ranks
        rec = dict(step=k, loss=t.item(), lr=lr)
        gn = engine.get_global_grad_norm()
        if gn is not None:
            rec["grad_norm"] = float(gn)
        ls = getattr(opt, "loss_scale", None) if engine.fp16_enabled() else None
        if ls is not None:
            rec["loss_scale"] = float(ls)
            rec["skipped_steps"] = engine.skipped_steps
        recs.append(rec)
    if rank == 0:
        q.put(
            dict(
                engine="deepspeed " + deepspeed.__version__,
                torch=torch.__version__,
                ranks=a.ranks,
                micro=mb,
                gas=ga,
                optimizer=type(engine.optimizer).__name__,
                basic_optimizer=type(engine.basic_optimizer).__name__,
                scheduler=type(sched).__name__,
                init_seconds=round(init_s, 2),
                train_seconds=round(time.time() - t0, 2),
                steps=recs,
            )
        )
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def reference(a):
    """Same maths in one plain-torch process: fp32 AdamW, whole global batch, clip, scheduler by DeepSpeed's formulas."""
    import torch

    cfg = json.load(open(a.config))
    mb, ga = batch_params(cfg, a.ranks)
    m = make_model(a.seed)
    p = dict(cfg.get("optimizer", {}).get("params", {}))
    adamw = cfg["optimizer"]["type"].lower() == "adamw" or p.get("adam_w_mode", True)
    lr0 = p.get("lr", 1e-3)
    O = torch.optim.AdamW if adamw else torch.optim.Adam
    opt = O(
        m.parameters(),
        lr=lr0,
        betas=tuple(p.get("betas", (0.9, 0.999))),
        eps=p.get("eps", 1e-8),
        weight_decay=p.get("weight_decay", 0.0),
    )
    clip = cfg.get("gradient_clipping", 1.0)
    sc = cfg.get("scheduler")

    def lr_at(k):  # k = number of optimizer updates already made
        if not sc:
            return lr0
        q = sc["params"]
        w = max(2, q.get("warmup_num_steps", 1000))
        i = k - 1  # DeepSpeed: last_batch_iteration starts at -1
        if sc["type"] in ("WarmupLR", "WarmupDecayLR"):
            lo, hi = q.get("warmup_min_lr", 0.0), q.get("warmup_max_lr", lr0 if sc["type"] == "WarmupLR" else 1e-3)
            if i < 0:
                return lo
            if i < w:
                gma = math.log(i + 1) / math.log(w) if q.get("warmup_type", "log") == "log" else i / w
            else:
                gma = (
                    1.0
                    if sc["type"] == "WarmupLR"
                    else max(0.0, (q["total_num_steps"] - i) / max(1.0, q["total_num_steps"] - w))
                )
            return lo + (hi - lo) * gma
        raise SystemExit("reference: scheduler %s not done" % sc["type"])

    data = make_data(a.seed, a.steps * a.ranks * ga * mb)
    recs = []
    for k in range(a.steps):
        lr = lr_at(k)
        for g in opt.param_groups:
            g["lr"] = lr
        opt.zero_grad()
        tot = 0.0
        for r in range(a.ranks):
            for mi in range(ga):
                i = ((k * a.ranks + r) * ga + mi) * mb
                d = data[i : i + mb]
                loss = m(d[:, :-1], d[:, 1:])
                (loss / (ga * a.ranks)).backward()
                tot += loss.item()
        gn = torch.nn.utils.get_total_norm([q.grad for q in m.parameters()])
        f16 = cfg.get("fp16", {})
        grow = (
            f16.get("enabled")
            and f16.get("loss_scale", 0) == 0
            and k > 0
            and k % f16.get("loss_scale_window", 1000) == 0
        )
        div = (
            2.0 if grow else 1.0
        )  # DeepSpeed >= 0.17.1, ZeRO 1-3, no overflow so far: the step that doubles the scale unscales with the doubled scale
        if clip and clip > 0:  # DeepSpeed clips with clip = (norm + 1e-6)/max_norm when that exceeds 1
            c = (gn / div + 1e-6) / clip
            if c > 1:
                div *= float(c)
        if div != 1.0:
            for q in m.parameters():
                q.grad /= div
        opt.step()
        recs.append(dict(step=k, loss=tot / (ga * a.ranks), lr=lr, grad_norm=gn.item()))
    return dict(engine="plain torch reference", torch=torch.__version__, ranks=a.ranks, micro=mb, gas=ga, steps=recs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--ranks", type=int, default=2)
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--seed", type=int, default=1234)
    ap.add_argument("--out")
    ap.add_argument("--reference", action="store_true")
    ap.add_argument("--compare")
    ap.add_argument("--tol", type=float, default=2e-4)
    ap.add_argument("--timeout", type=int, default=300)
    ap.add_argument("--dump-init")
    a = ap.parse_args()
    if a.dump_init:
        from safetensors.torch import save_file

        save_file({n: p.detach() for n, p in make_model(a.seed).named_parameters()}, a.dump_init)
    if a.reference:
        res = reference(a)
    else:
        import multiprocessing as mp

        ctx = mp.get_context("spawn")
        q = ctx.Queue()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        ps = [ctx.Process(target=worker, args=(r, a, port, q)) for r in range(a.ranks)]
        [p.start() for p in ps]
        t0, res = time.time(), None
        while time.time() - t0 < a.timeout:
            try:
                res = q.get(timeout=0.5)
                break
            except Exception:
                if any(p.exitcode not in (None, 0) for p in ps):
                    break
        for p in ps:
            p.join(timeout=20 if res else 1)
            if p.is_alive():
                p.terminate()
        if res is None:
            sys.exit("FAILED: a rank died or timed out")
    txt = json.dumps(res, indent=1)
    if a.out:
        open(a.out, "w").write(txt)
    s = res["steps"]
    print(
        "%s: %d steps, loss %.6f -> %.6f" % (res["engine"], len(s), s[0]["loss"], s[-1]["loss"]),
        {k: res[k] for k in ("optimizer", "basic_optimizer", "scheduler", "init_seconds", "train_seconds") if k in res},
    )
    if a.compare:
        ref = json.load(open(a.compare))["steps"]
        worst = max((abs(x["loss"] - y["loss"]), x["step"]) for x, y in zip(s, ref))
        print("max |loss - reference| = %.3g at step %d (tol %g)" % (worst[0], worst[1], a.tol))
        sys.exit(worst[0] > a.tol)


if __name__ == "__main__":
    main()
