"""The content of packages: the binary, its manual pages and completions. Made from the program under test."""

import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, need_program, nc3z


class Packages(Case):
    def test_debian_package_and_tarball(self):
        need_program(self, "dpkg-deb")
        env = {**os.environ, "DEBFULLNAME": "A Packager", "DEBEMAIL": "packager@example.org"}
        done = subprocess.run([ROOT / "scripts/package.sh", NC3Z, self.dir / "out"], capture_output=True, check=False, text=True, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        tarball, deb = done.stdout.split()
        self.assertRegex(deb, r"nc3z_\d+\.\d+\.\d+_\w+\.deb$")
        listed = subprocess.run(["dpkg-deb", "--contents", deb], capture_output=True, check=True, text=True).stdout
        for name in ("usr/bin/nc3z", "usr/sbin/mount.fuse.nc3z", "usr/share/man/man1/nc3z.1.gz", "usr/share/man/man1/nc3z-archive.1.gz", "usr/share/doc/nc3z/copyright",
                     "usr/share/bash-completion/completions/nc3z", "usr/share/zsh/vendor-completions/_nc3z",
                     "usr/share/fish/vendor_completions.d/nc3z.fish", "usr/share/mime/packages/nc3z.xml", "usr/share/nc3z/magic"):
            self.assertRegex(listed, rf"(?m)^-rw.r-.r-. root/root .* \./{re.escape(name)}$")
        if any((pathlib.Path(NC3Z).parent / folder / "libnc3z_netcdf_plugin.so").exists() for folder in (".", "deps")):
            self.assertRegex(listed, r"(?m)^-rw-r--r-- root/root .* \./usr/lib/nc3z/libnc3z_netcdf_plugin\.so$")
        if any((pathlib.Path(NC3Z).parent / folder / "libnc3z.so").exists() for folder in (".", "deps")):
            for name in (r"usr/include/nc3z\.h", r"usr/lib/pkgconfig/nc3z\.pc", r"usr/lib/libnc3z\.so\.1\.[\d.]+", r"usr/lib/libnc3z\.so\.1 -> .*"):
                self.assertRegex(listed, rf"(?m) \./{name}$")
        info = subprocess.run(["dpkg-deb", "--field", deb, "Package", "Version", "Architecture", "Maintainer", "Depends", "Description"], capture_output=True,
                              check=True, text=True).stdout
        self.assertIn("Package: nc3z\n", info)
        self.assertIn("Maintainer: A Packager <packager@example.org>\n", info)
        depends = dict(re.findall(r"([\w.-]+) \(>= ([\d.]+)\)", info))
        self.assertEqual(set(depends), {"libc6", "libgcc-s1"}, info)
        subprocess.run(["dpkg-deb", "-x", deb, self.dir / "there"], check=True)
        program = self.dir / "there/usr/bin/nc3z"
        self.assertLess(program.stat().st_size, os.stat(NC3Z).st_size)
        if shutil.which("dpkg-shlibdeps"):
            # Debian's own tool, which reads the libraries' tables of symbols: never a newer version than ours asks for.
            (self.dir / "debian").mkdir()
            (self.dir / "debian/control").write_text("Source: nc3z\n")
            theirs = subprocess.run(["dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-e{program}"], cwd=self.dir, capture_output=True, text=True).stdout
            for name, version in re.findall(r"([\w.-]+) \(>= ([\d.]+)\)", theirs):
                newer = subprocess.run(["dpkg", "--compare-versions", depends[name], "ge", version], check=False).returncode == 0
                self.assertTrue(newer, (name, version, depends))
        page = gzip.decompress((self.dir / "there/usr/share/man/man1/nc3z-archive.1.gz").read_bytes()).decode()
        version = re.search(r"^Version: (.*)$", info, re.M).group(1)
        self.assertRegex(page, rf'(?m)^\.TH nc3z-archive 1 .*{re.escape(version)}')
        self.assertNotIn("Print version", page)
        for args in (("archive", "-q", CLASSIC / "numeric.nc", "-o", "x.nc3z"), ("verify", "-q", "x.nc3z", "--against", CLASSIC / "numeric.nc")):
            subprocess.run([program, *args], cwd=self.dir, check=True)
        names = subprocess.run(["tar", "tzf", tarball], capture_output=True, check=True, text=True).stdout.split()
        self.assertIn("usr/bin/nc3z", names)

    def test_every_file_names_the_same_version(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/version.py"], capture_output=True, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_installer_checks_what_it_fetches(self):
        need_program(self, "curl")
        system = {"Linux": "unknown-linux-musl", "Darwin": "apple-darwin"}[os.uname().sysname]
        version = subprocess.run([sys.executable, ROOT / "scripts/version.py"], capture_output=True, check=True, text=True).stdout.strip()
        name = f"nc3z-{version}-{'aarch64' if os.uname().machine in ('arm64', 'aarch64') else 'x86_64'}-{system}"
        (self.dir / name).mkdir()
        (self.dir / name / "nc3z").symlink_to(NC3Z)
        packed = self.dir / f"{name}.tar.gz"
        subprocess.run(["tar", "-C", self.dir, "-czf", packed, "--dereference", name], check=True)
        env = {**os.environ, "NC3Z_RELEASE": self.dir.as_uri(), "NC3Z_BIN": str(self.dir / "bin")}

        def install(sums):
            (self.dir / "SHA256SUMS").write_text(sums)
            return subprocess.run(["sh", ROOT / "packaging/install/install.sh"], env=env, capture_output=True, check=False, text=True)

        right = f"{hashlib.sha256(packed.read_bytes()).hexdigest()}  {packed.name}\n"
        for sums in ("", right.replace(packed.name, "other.tar.gz"), "0" * 64 + right[64:]):
            done = install(sums)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nothing was installed", done.stderr)
            self.assertFalse((self.dir / "bin").exists())
        for _ in range(2):
            done = install(right)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"^nc3z {re.escape(version)}\b")
            self.assertIn("is not in PATH", done.stdout)
        self.assertEqual([p.name for p in (self.dir / "bin").iterdir()], ["nc3z"])
        packed.unlink()
        self.assertIn(f"cannot fetch {self.dir.as_uri()}/{packed.name}", install(right).stderr)

    # Files that crates hold in addition to their code.
    NEEDED = {"nc3z-plot": {"assets/DejaVuSans-LICENCE.txt"}, "nc3z-collections": {"spec/archive.md", "spec/dictionary/head.dict"}}

    def test_crates_can_be_packed(self):
        """All of them, as for publishing, without building them again."""
        cargo = need_program(self, "cargo")
        env = {**os.environ, "CARGO_TARGET_DIR": str(self.dir / "target")}
        command = [cargo, "package", "--workspace", "--exclude", "nc3z-python", "--exclude", "public-api-list", "--no-verify", "--allow-dirty", "--offline"]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        crates = [p.name for p in (self.dir / "target/package").glob("*.crate")]
        manifests = [p for pattern in ("nc3z*", "libs/*", "faces/*") for p in ROOT.glob(f"{pattern}/Cargo.toml")]
        members = [re.search('^name = "(.+)"', p.read_text(), re.M)[1] for p in manifests]
        members.remove("nc3z-python")
        self.assertEqual(sorted(c.rsplit("-", 1)[0] for c in crates), sorted(members))
        self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("warning")], [])
        for path in (self.dir / "target/package").glob("*.crate"):
            with self.subTest(path.name), tarfile.open(path) as crate:
                root = path.stem
                held = {name.removeprefix(root + "/") for name in crate.getnames()}
                self.assertLessEqual({"LICENSE-APACHE", "LICENSE-MIT", "README.md"} | self.NEEDED.get(root.rsplit("-", 1)[0], set()), held)
                # The files that are compiled into it come along.
                for name in held:
                    if name.startswith("src/") and name.endswith(".rs") and not re.search(r"tests(\.rs$|/)", name):
                        code = crate.extractfile(f"{root}/{name}").read().decode().split("#[cfg(test)]")[0]
                        for other in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', code):
                            self.assertIn(os.path.normpath(os.path.join(os.path.dirname(name), other)), held, name)

    def test_the_demo_says_what_is_missing(self):
        tools = self.dir / "bin"
        tools.mkdir()
        for name in ("bash", "dirname", "env"):
            (tools / name).symlink_to(shutil.which(name))
        for there, missing in (([], "cargo"), (["cargo"], "cc")):
            for name in there:
                (tools / name).write_text("#!/bin/sh\nexit 9\n")
                (tools / name).chmod(0o755)
            done = subprocess.run([tools / "bash", ROOT / "scripts/demo.sh"], env={"PATH": str(tools)}, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{missing} is missing", done.stderr)
            self.assertIn("install", done.stderr)
            self.assertNotIn("Building", done.stderr)

    def test_a_long_step_shows_a_sign_of_life(self):
        """As scripts/test.sh runs its steps, with seconds in place of most of a minute; what ends soon says nothing."""
        script = 'source scripts/steps.sh; SIGN_OF_LIFE=1; step "slow one" sleep 3; step "quick one" true; close'
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(done.stdout.count("slow one, still running"), 1)
        self.assertNotIn("quick one, still running", done.stdout)
        self.assertIn("2 passed, 0 failed", done.stdout)

    # The call of each shell: the script of completions, then the words of a line, of which the last is completed.
    ASKED = {
        "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
                '_nc3z_with_names "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\\n" "${COMPREPLY[@]}"',
        # Outside of a line that is edited zsh completes nothing: what the function would give to it is printed, and Clap's part says its name.
        "zsh": 'compdef() { }; compset() { [[ $PREFIX == *,* ]] && IPREFIX=${PREFIX%,*}, && PREFIX=${PREFIX##*,} }; compadd() { local found=(${(M)names:#$PREFIX*}); print -rl -- $IPREFIX${^found}${options[2]}; (( $#found )) }; _arguments() { print -r -- clap; return 1 }; source "$1"; shift; '
               'words=("$@"); CURRENT=$#; PREFIX=${words[-1]}; _nc3z',
        "fish": 'source $argv[1]; complete -C "nc3z "(string join " " -- $argv[3..-1])',
    }

    def test_shells_complete_names_of_variables_and_dimensions(self):
        (self.dir / "a file.cdf").write_bytes((CLASSIC / "coads_climatology.cdf").read_bytes())
        for shell, code in self.ASKED.items():
            need_program(self, shell)
            script = self.dir / f"nc3z.{shell}"
            script.write_bytes(self.ok(nc3z("completions", shell)).stdout)
            for line, some, none in (
                (("read", "F", ""), {"SST", "AIRT", "COADSX"}, {"--help"}), (("read", "F", "S"), {"SST", "SPEH"}, {"AIRT"}),
                (("subset", "F", "-v", ""), {"SST", "UWND"}, set()), (("subset", "F", "-v", "SST", "-d", ""), {"TIME", "COADSX", "COADSY"}, {"SST"}),
                (("subset", "F", "-d", "COADS"), {"COADSX", "COADSY"}, {"TIME"}), (("read", "F", "--str"), {"--stride"}, {"SST"}),
                (("subset", "F", "-v", "SST,A"), {"SST,AIRT"}, {"SST,SPEH", "SPEH"}), (("attr", "F", "A"), {"AIRT:"}, {"SPEH:"}), (("attr", "F", "SST:a=1", "S"), {"SST:", "SPEH:"}, {"AIRT:"}),
                (("dump", "none.nc", "-v", ""), set(), {"SST"}), (("arch",), {"archive"}, {"SST"}),
            ):
                if shell == "zsh" and some & {"--stride", "archive"}:
                    some = {"clap"}
                for file in (str(CLASSIC / "coads_climatology.cdf"), str(self.dir / "a\\ file.cdf")):
                    words = [NC3Z, *(file if word == "F" else word for word in line)]
                    how = [shell, "-f", "-c"] if shell == "zsh" else [shell, "-c"]
                    env = {**os.environ, "HOME": str(self.dir), "PATH": f"{pathlib.Path(NC3Z).parent}:{os.environ['PATH']}"}
                    done = subprocess.run([*how, code, *([] if shell == "fish" else [shell]), script, *words], capture_output=True, text=True, timeout=60, env=env, cwd=self.dir)
                    found = {word.split("\t")[0] for word in done.stdout.splitlines()}
                    self.assertTrue(some <= found and not none & found, (shell, line, found, done.stderr))

    def test_the_citation_is_of_this_version(self):
        text = (ROOT / "CITATION.cff").read_text("utf-8")
        version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8")).group(1)
        for line in ("cff-version: 1.2.0", f"version: {version}", "type: software", "license:", "title: nc3z"):
            self.assertIn(line, text)

    def test_other_recipes_are_well_formed(self):
        conda = (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")
        version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8")).group(1)
        self.assertIn(f"  version: {version}\n", conda)
        formula = ROOT / "packaging/homebrew/nc3z.rb"
        if shutil.which("ruby"):
            subprocess.run(["ruby", "-c", formula], check=True, stdout=subprocess.DEVNULL)
        for recipe in (conda, formula.read_text("utf-8")):
            self.assertIn("nc3z-cli", recipe)
            self.assertIn("completions", recipe)

    def test_what_is_unix_stands_in_few_files(self):
        """Whatever names `std::os::unix` elsewhere would keep the tool from being compiled on other systems (scripts/targets.sh compiles it)."""
        known = {"nc3z-reader/src/platform.rs", "nc3z-writer/src/platform.rs", "nc3z-reader/src/source/regular.rs", "libs/nc3z-filters/src/child.rs",
                 "libs/nc3z-filters/src/worker.rs", "libs/nc3z-collections/src/tree/links.rs", "libs/nc3z-collections/src/tree/output_dirs.rs", "libs/nc3z-collections/src/tree/removal.rs",
                 "libs/nc3z-collections/src/tree/acl.rs", "libs/nc3z-collections/src/tree/campaign/plan.rs", "libs/nc3z-collections/src/tree/campaign/retire.rs", "libs/nc3z-collections/src/tree/offline.rs",
                 "nc3z-cli/src/output/signals.rs", "faces/mount/src/view/platform.rs",
                 "faces/mount/src/system_log.rs", "nc3z-cli/src/cmd/netcdf_plugin/run.rs", "faces/netcdf-plugin/src/file.rs", "faces/c/src/open.rs"}
        found = set()
        for path in (p for folder in ("nc3z-*", "libs/*", "faces/*") for p in ROOT.glob(f"{folder}/src/**/*.rs")):
            code = path.read_text("utf-8").split("#[cfg(test)]")[0]
            if "std::os::unix" in code:
                found.add(path.relative_to(ROOT).as_posix())
        self.assertEqual(found, known)
        for name in sorted(known):
            path = ROOT / name
            root = ROOT / name.split("/src/")[0] / ("src/main.rs" if name.startswith("nc3z-cli") else "src/lib.rs")
            parts = path.read_text("utf-8") + root.read_text("utf-8")
            declared = re.search(rf"#\[cfg\(unix\)\]\nmod {path.stem};", parts)
            self.assertTrue(declared or re.search(r"#\[cfg\((unix|target_os = \"linux\")\)\]", path.read_text("utf-8")), name)


if __name__ == "__main__":
    sys.exit(unittest.main())
