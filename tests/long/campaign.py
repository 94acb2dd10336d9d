#!/usr/bin/env python3
"""A campaign as a centre runs it: made files of every kind, a plan, workers that are killed, a file system that fills up, and at the end each file
archived or named.

    NC3Z=target/release/nc3z python3 tests/long/campaign.py [--files 2000] [--kills 50] [--workers 8] [--engine local|slurm|dask] [--seed 67]

`slurm` starts slurmctld, munge and two slurmd of its own on this machine (as root; Debian's packages slurmctld, slurmd, slurm-client, munge), and kills
tasks and nodes. `dask` starts a LocalCluster and kills its workers. `local` is a pool of processes. Everything is in one temporary directory. Ends with
exit code 1 and the first difference if anything is lost or not named."""

import argparse
import contextlib
import csv
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from common import NC3Z, header

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(64)


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def nc3z(*args, codes=(0,), **more):
    done = subprocess.run([NC3Z, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    check(done.returncode in codes, f"{args[0]}: exit code {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done


class Tree:
    """The made files: what must be archived, and what must be named."""

    def __init__(self, root, count, pick):
        self.root, self.good, self.damaged, self.stubs, self.others = root, [], [], [], []
        head = header([("tas", (0,), 5, 4 * 384)], [("x", 384)])
        self.pick = pick
        for n in range(count):
            directory = root / f"m{n % 13:02}/e{n // 700:04}"
            if n < 13 * 700 * 2 or n % 700 < 13:
                directory.mkdir(parents=True, exist_ok=True)
            path, kind = directory / f"tas_{n:07}.nc", n % 200
            if kind == 3:
                path = directory / os.fsdecode(b'o\xffd, "%07d"\n.nc' % n)
            if kind == 5 and self.good:
                os.link(self.good[-1], path)
            elif kind in (7, 107):
                path.write_bytes(HDF5)
                self.others.append(path)
                continue
            elif kind == 11:
                path.write_bytes(head[:40] + b"\xff" * 200)
                self.damaged.append(path)
                continue
            elif kind == 13:
                with open(path, "wb") as f:
                    f.truncate(1 << 20)
                self.stubs.append(path)
                continue
            elif kind == 17:
                path.symlink_to(os.path.relpath(self.good[-1], directory))
                self.others.append(path)
                continue
            else:
                base = pick.random() * 300
                path.write_bytes(head + struct.pack(">384f", *(round(base + (i * n) % 17 / 10, 1) for i in range(384))))
            self.good.append(path)
        os.chmod(root / "m00", 0o700)
        os.chmod(root / "m01", 0o2750)

    def name(self, path):
        return os.fsencode(path.relative_to(self.root))


class Kills:
    """Ends something at a random moment, until the number is reached or the work is done."""

    def __init__(self, count, pick, mean):
        self.left, self.done, self.pick, self.mean, self.over = count, 0, pick, mean, threading.Event()

    def run(self, kill):
        while self.left and not self.over.wait(self.pick.uniform(0.2, 1.8) * self.mean):
            if kill():
                self.left, self.done = self.left - 1, self.done + 1


def end(pid):
    # It may have ended meanwhile.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def command(unit, out):
    return [NC3Z, "archive", "-q", "--unit", str(unit), "-o", str(out), "--on-tape", "skip", "--threads", "1"]


class Local:
    """A pool of processes. One that was killed is started again by the next round."""

    def __init__(self, workers, work):
        self.workers, self.work, self.running, self.lock = workers, work, set(), threading.Lock()

    def one(self, unit, out):
        process = subprocess.Popen(command(unit, out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with self.lock:
            self.running.add(process)
        code = process.wait()
        with self.lock:
            self.running.discard(process)
        return code

    def kill(self, pick):
        with self.lock:
            alive = [p for p in self.running if p.poll() is None]
            if alive:
                pick.choice(alive).kill()
        return bool(alive)

    def round(self, units, out):
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(lambda unit: self.one(unit, out), units))

    def close(self):
        pass


class Dask(Local):
    """A cluster whose workers are killed; Dask starts them again, and runs their tasks once more."""

    def __init__(self, workers, work):
        import dask
        from distributed import Client, LocalCluster

        super().__init__(workers, work)
        # On a busy machine a new worker takes longer than the 15 s after which the cluster gives it up.
        dask.config.set({"distributed.scheduler.allowed-failures": 100, "distributed.deploy.lost-worker-timeout": "1h"})
        self.cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        self.client = Client(self.cluster)

    def kill(self, pick):
        # A worker that is killed while it starts is not started again.
        processes = [nanny.process for nanny in self.cluster.workers.values() if nanny.process]
        pids = [process.pid for process in processes if process.status.name == "running" and process.pid]
        if pids:
            end(pick.choice(pids))
        return bool(pids)

    def round(self, units, out):
        run = lambda words: subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        return self.client.gather(self.client.map(run, [command(unit, out) for unit in units], pure=False, retries=20))

    def close(self):
        self.client.close()
        self.cluster.close()


class Slurm(Local):
    """slurmctld and two slurmd on this machine. Tasks are killed, and now and then a node with all of its tasks."""

    NODES = ("n1", "n2")

    def __init__(self, workers, work):
        super().__init__(workers, work)
        self.dir = Path(tempfile.mkdtemp(prefix="nc3z-slurm-"))
        for name in ("state", *(f"spool-{node}" for node in self.NODES)):
            (self.dir / name).mkdir()
        host = os.uname().nodename
        key = Path("/etc/munge/munge.key")
        if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode:
            if not key.exists():
                key.write_bytes(os.urandom(1024))
                os.chmod(key, 0o400)
                shutil.chown(key, "munge", "munge")
            subprocess.run("mkdir -p /run/munge && chown munge: /run/munge && runuser -u munge -- munged", shell=True, check=True)
        nodes = "".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={17010 + n} CPUs={workers // 2 or 1} RealMemory=1000 State=UNKNOWN\n"
                        for n, node in enumerate(self.NODES))
        (self.dir / "slurm.conf").write_text(
            f"ClusterName=nc3z\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort=17000\nAuthType=auth/munge\nSlurmUser=root\n"
            f"StateSaveLocation={self.dir}/state\nSlurmdSpoolDir={self.dir}/spool-%n\nSlurmctldPidFile={self.dir}/ctld.pid\n"
            f"SlurmdPidFile={self.dir}/%n.pid\nSlurmctldLogFile={self.dir}/ctld.log\nSlurmdLogFile={self.dir}/%n.log\nProctrackType=proctrack/linuxproc\n"
            f"TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdTimeout=10\nJobRequeue=1\n"
            f"MaxArraySize=100001\nMinJobAge=3600\nSchedulerParameters=batch_sched_delay=0,sched_interval=2\nSlurmdParameters=config_overrides\n{nodes}"
            f"PartitionName=all Nodes={','.join(self.NODES)} Default=YES MaxTime=INFINITE State=UP\n")
        self.env = dict(os.environ, SLURM_CONF=str(self.dir / "slurm.conf"))
        self.daemons = {"ctld": self.daemon("slurmctld", "-D", "-i")}
        for node in self.NODES:
            self.daemons[node] = self.daemon("slurmd", "-D", "-N", node)
        end = time.monotonic() + 60
        while self.call("sinfo", "-h", "-t", "idle", "-o", "%D").strip() != str(len(self.NODES)):
            check(time.monotonic() < end, f"the nodes do not come up: {self.call('sinfo')}")
            time.sleep(1)

    def daemon(self, *words):
        return subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def call(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True, check=False).stdout

    def kill(self, pick):
        if pick.random() < 0.1:
            node = pick.choice(self.NODES)
            self.daemons[node].kill()
            self.daemons[node].wait()
            # The steps of the node die with it.
            mine = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and self.is_step(p, node)]
            for pid in mine:
                end(pid)
            self.daemons[node] = self.daemon("slurmd", "-D", "-N", node)
            return True
        tasks = self.call("squeue", "-h", "-r", "-t", "R", "-o", "%i").split()
        if tasks:
            self.call("scancel", "--signal=KILL", "--full", pick.choice(tasks))
        return bool(tasks)

    def is_step(self, process, node):
        try:
            return f"SLURMD_NODENAME={node}\0".encode() in (process / "environ").read_bytes() and str(self.dir).encode() in (process / "environ").read_bytes()
        except OSError:
            return False

    def round(self, units, out):
        script = self.dir / "job.sh"
        listed = self.dir / "units"
        listed.write_text("".join(f"{unit}\n" for unit in units))
        words = " ".join(f"'{word}'" for word in command("@UNIT@", out))
        script.write_text(f"#!/bin/bash\n#SBATCH --array=1-{len(units)} --requeue --signal=B:TERM@60 --output=/dev/null --error=/dev/null\ncd '{self.work}'\n"
                          f"unit=$(sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" '{listed}')\nexec {words}\n".replace("'@UNIT@'", '"$unit"'))
        job = subprocess.run(["sbatch", "--parsable", str(script)], env=self.env, capture_output=True, text=True, check=True).stdout.strip()
        while self.call("squeue", "-h", "-j", job, "-o", "%i").strip():
            time.sleep(1)
        return []

    def close(self):
        for process in self.daemons.values():
            process.terminate()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def small_disk(work, size):
    """A file system that fills up, and the function that makes it larger; none without root."""
    out = work / "out"
    out.mkdir()
    if os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", out], capture_output=True, check=False).returncode == 0:
        return out, lambda: subprocess.run(["mount", "-o", "remount,size=4G,nr_inodes=2m", out], check=True), lambda: subprocess.run(["umount", out], check=False)
    print("NOT RUN: a file system that fills up: mounting needs root", flush=True)
    return out, lambda: None, lambda: None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--engine", choices=("local", "slurm", "dask"), default="local")
    parser.add_argument("--seed", type=int, default=67)
    args = parser.parse_args()
    pick = random.Random(args.seed)
    work = Path(tempfile.mkdtemp(prefix="nc3z-campaign-"))
    began = time.monotonic()
    tell = lambda text: print(f"{time.monotonic() - began:7.0f} s  {text}", flush=True)
    os.chdir(work)
    engine = unmount = None
    try:
        tree = Tree(work / "data", args.files, pick)
        tell(f"{len(tree.good)} good files, {len(tree.damaged)} damaged, {len(tree.stubs)} stubs, {len(tree.others)} others")
        nc3z("plan", "data", "-o", "camp", "--unit", f"{max(args.files // 60, 20) * 1600}")
        units = sorted((work / "camp/units").iterdir())
        tell(f"planned: {len(units)} units")
        status = lambda codes=(0, 1, 4): json.loads(nc3z("status", "camp", "--json", codes=codes).stdout)
        out, enlarge, unmount = small_disk(work, args.files * 500)
        engine = {"local": Local, "slurm": Slurm, "dask": Dask}[args.engine](args.workers, work)
        kills = Kills(args.kills, pick, max(0.3, args.files / 400 / max(args.kills, 1)))
        killer = threading.Thread(target=kills.run, args=(lambda: engine.kill(pick),))
        killer.start()
        full = rounds = 0
        while True:
            rounds += 1
            found = status()
            # Units with files that a run may still archive, as `status --csv` has them.
            rows = csv.DictReader(nc3z("status", "camp", "--csv", codes=(0, 1, 4)).stdout.decode("utf-8", "surrogateescape").splitlines(keepends=True))
            left = {int(row["unit"]) for row in rows if row["state"] in ("open", "stopped", "failed")} | {
                int(Path(gap["log"]).stem) for gap in found["logs_with_gaps"]}
            tell(f"round {rounds}: {found['states']['done']['files']} done, {len(left)} units left, {kills.done} kills; "
                 f"{ {f['code']: f['files'] for f in found['failures']} }")
            if not left and (kills.left == 0 or rounds > 3):
                break
            check(rounds < 60, "the campaign does not end")
            # While kills are left, units are run again: what is done stays.
            engine.round([units[n - 1] for n in sorted(left)] if left else units, out)
            if not full and any(f["code"] == "io.enospc" for f in status()["failures"]):
                full = 1
                enlarge()
                tell("the file system was full, and is larger now")
        kills.over.set()
        killer.join()
        found = status((1, 4) if tree.stubs or tree.damaged else (0,))
        states = {name: amount["files"] for name, amount in found["states"].items() if amount["files"]}
        tell(f"{states}, {kills.done} kills, {rounds} rounds, file system full: {full}")
        check(states.get("done") == len(tree.good), f"{len(tree.good)} files must be done")
        check(states.get("refused", 0) == len(tree.damaged) and states.get("on tape", 0) == len(tree.stubs), "damaged files and stubs are named")
        check(not found["logs_with_gaps"], "each unit was run to its end")
        check(not list(out.rglob("*nc3z-tmp*")) or nc3z("archive", "--clean-temps", "-r", "data", "-o", out, "--on-tape", "skip", codes=(0, 1, 4)), "temporary files")

        # Every archive restores.
        nc3z("restore", "-q", "-r", out, "-o", "back", "--acl", "camp")
        digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tree.good:
            back = work / "back" / path.relative_to(tree.root)
            check(back.exists() and digest(back) == digest(path), f"{path} does not come back")
        for directory in ("m00", "m01"):
            check((work / "back" / directory).stat().st_mode == (tree.root / directory).stat().st_mode, f"mode of {directory}")
        tell(f"{len(tree.good)} files restored, each with its bytes")

        # 100 losses, and no others.
        with open(work / "cat.csv", "w", newline="", encoding="utf-8", errors="surrogateescape") as f:
            writer = csv.writer(f)
            writer.writerow(("path", "size", "checksum"))
            writer.writerows((os.fsdecode(tree.name(path)), path.stat().st_size, digest(path)) for path in tree.good)
        nc3z("reconcile", "cat.csv", out)
        lost = pick.sample(tree.good, min(100, len(tree.good) // 4))
        for path in lost:
            (out / f"{os.fsdecode(tree.name(path))}.nc3z").unlink()
        found = json.loads(nc3z("reconcile", "cat.csv", out, "--json", codes=(1,)).stdout)
        check((found["missing"], found["extra"], found["different"]) == (len(lost), 0, 0), f"reconcile: {found}")
        plain = {os.fsdecode(tree.name(path)) for path in lost if b"\xff" not in tree.name(path)}
        check(plain <= set(found["first"]["missing"]), "the losses are named")
        tell(f"reconcile: {len(lost)} losses found, and no others")

        # Three logs are lost.
        for unit in pick.sample(units, min(3, len(units))):
            planned = unit.read_bytes().count(b"\0")
            before = status()["states"]["open"]["files"]
            (work / f"camp/logs/{unit.stem}.jsonl").unlink()
            found = status((1,))
            check(found["states"]["open"]["files"] == before + planned, f"the lost log of {unit.stem} is found")
        tell("three lost logs found")
    finally:
        if engine:
            engine.close()
        os.chdir("/")
        if unmount:
            unmount()
        shutil.rmtree(work, ignore_errors=True)
    tell("all holds")


if __name__ == "__main__":
    main()
