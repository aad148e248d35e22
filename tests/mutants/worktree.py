"""A git worktree with its own build, in which faults are planted. The working tree is never changed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from faults import ROOT

WORK = ROOT / "build/mutants"
BUILD = WORK / "build/default"
GOOD = BUILD.parent / "good.json"


class SetupError(Exception):
    """Nothing can be measured."""


def git(*arguments, folder=ROOT, **environment):
    command = ["git", "-C", folder, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def snapshot():
    """The tree of the working tree, with uncommitted and new files. HEAD and the index stay as they are."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git("read-tree", "HEAD", **index)
        git("add", "--all", **index)
        return git("write-tree", **index)


def commit_of(tree):
    """A commit of the tree, and its name: that of HEAD, with "-dirty" if the trees differ."""
    head = git("rev-parse", "HEAD")
    if tree == git("rev-parse", "HEAD^{tree}"):
        return head, head[:10]
    people = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    identity = dict.fromkeys(people, "mutants")
    made = git("commit-tree", tree, "-p", head, "-m", "The working tree", **identity)
    return made, head[:10] + "-dirty"


def dependencies():
    """The folder of the pinned wheels, which all build trees share."""
    if "FATHOM_DEPS_DIR" in os.environ:
        return os.environ["FATHOM_DEPS_DIR"]
    with contextlib.suppress(OSError):
        cache = (ROOT / "build/default/CMakeCache.txt").read_text()
        if found := re.search("^FATHOM_DEPS_DIR:PATH=(.+)$", cache, re.MULTILINE):
            return found[1]
    return str(ROOT / ".deps")


class Worktree:
    """A copy of the working tree as it was at the start."""

    def __init__(self, limit, jobs):
        """`limit` is that of `call`, in seconds; `jobs` is the number of compilations, None for ninja's default."""
        self.limit, self.jobs = limit, jobs
        self.tree = snapshot()
        self.commit, self.name = commit_of(self.tree)
        if not (WORK / ".git").exists():
            git("worktree", "prune")
            git("worktree", "add", "--detach", str(WORK), self.commit)
        self.take_back()
        self.environment = os.environ | {
            "FATHOM_BENCH": str(BUILD / "fathom_bench"),
            "FATHOM_DEPS_DIR": dependencies(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CCACHE_BASEDIR": str(WORK),  # as in .ci/run
            "CCACHE_NOHASHDIR": "1",
            "COLUMNS": "1000",  # pytest cuts its summary to the width of the terminal
        }
        self.environment.pop("CI", None)
        self.clock = time.time()

    def take_back(self):
        """Removes every fault, also one that a killed run left."""
        git("reset", "--hard", "--quiet", self.commit, folder=WORK)
        git("clean", "-d", "--force", "--quiet", folder=WORK)

    @contextlib.contextmanager
    def planted(self, fault):
        path = WORK / fault.file
        text = path.read_text()
        try:
            self.write(path, text.replace(fault.find, fault.replace))
            yield
        finally:
            self.write(path, text)

    def write(self, path, text):
        """Gives the file a time that it never had, in whole seconds: ninja and Python's cache compare times."""
        self.clock = max(time.time(), self.clock + 1)
        path.write_text(text)
        os.utime(path, (self.clock, self.clock))

    def call(self, *command):
        """Runs a command in the worktree. Returns its exit code, None if it was killed after the limit, and its output."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                list(map(str, command)),
                cwd=WORK,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):  # also ends what the command started
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return code, output.read()

    def build(self, targets):
        """Builds ninja targets. Returns whether they compile, and the output."""
        if not targets:
            return True, ""
        if not (BUILD / "build.ninja").exists():
            folder = f"-DFATHOM_DEPS_DIR={self.environment['FATHOM_DEPS_DIR']}"
            code, output = self.call("cmake", "--preset", "default", folder)
            if code != 0:
                raise SetupError(f"{WORK} cannot be configured:\n{output[-2000:]}")
        jobs = [f"-j{self.jobs}"] if self.jobs else []
        code, output = self.call("ninja", "-C", BUILD, *jobs, *targets)
        if code is None:
            raise SetupError(f"a build took longer than {self.limit:g} s (--limit)")
        return code == 0, output

    def good(self):
        """The scopes that passed in this tree without a fault."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(GOOD.read_text())
            return found["scopes"] if found["tree"] == self.tree else []
        return []

    def remember_good(self, scope):
        GOOD.parent.mkdir(exist_ok=True)
        GOOD.write_text(json.dumps({"tree": self.tree, "scopes": [*self.good(), scope]}))
