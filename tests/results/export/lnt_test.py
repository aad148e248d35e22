"""A real LNT server reads files of results/export and finds a slower row."""

# Runs in the Python of dashboards.

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import made_up_run as made_up
import pytest
from exported import SUFFIX
from program import ROOT, export

# The row takes 30 us. In seconds, LNT would ignore the change.
SLOW = made_up.op_name("embedding", "memnet", "first")
DATES = ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")


def run(path, slower=None, **more):
    document = made_up.document(workloads=("memnet",), memory=True, **more)
    rows = list(made_up.repeated(document["benchmarks"]))
    for row in rows:
        row["real_time"] *= 1.3 if row["run_name"] == f"{slower}{SUFFIX}" else 1
    return made_up.write(path, document | {"benchmarks": rows})


def lnt(*arguments):
    command = [sys.executable, "-s", "-c", "from lnt.lnttool import main; main()"]
    return [*command, *map(str, arguments)]


def done(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def report(folder, name, **more):
    """Exports a report with the command of docs/dashboards.md."""
    made = run(folder / f"{name}.json", **more)
    result = export("lnt", made, "-o", folder / f"{name}.report.json")
    assert result.returncode == 0, result.stderr
    return folder / f"{name}.report.json"


class Server:
    """A server with two runs. The second run has a slower row and is submitted over HTTP."""

    def __init__(self, folder):
        self.reports = [
            report(folder, "base", date=DATES[0]),
            report(folder, "slow", date=DATES[1], slower=SLOW),
        ]
        instance = folder / "instance"
        done(lnt("create", instance))
        schema = ROOT / "results/fathom_export/lnt.yaml"
        (instance / "schemas/fathom.yaml").write_text(schema.read_text())
        done(lnt("import", "--testsuite", "fathom", instance, *self.reports))
        done(lnt("import", instance, self.reports[0]))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        with open(self.log, "w") as log:
            options = ("--hostname", "127.0.0.1", "--port", port)
            command = lnt("runserver", instance, *options)
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def wait(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return self.get("")
            except urllib.error.URLError:
                time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def get(self, path):
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=60) as answer:
            return answer.read().decode()

    def api(self, path, suite="nts"):
        return json.loads(self.get(f"api/db_default/v4/{suite}/{path}"))

    def regressions(self, suite="nts"):
        """The rows of the page that compares the second run with the first, by metric."""
        page = self.get(f"db_default/v4/{suite}/2?compare_to=1")
        tables = re.findall(r"Performance Regressions - (\w+)</th>(.*?)</table>", page, re.DOTALL)
        name = r'class="benchmark-name".*?<a [^>]*>([^<]*)</a>'
        return {metric: re.findall(name, table, re.DOTALL) for metric, table in tables}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("lnt"))
    try:
        made.wait()
        done(lnt("submit", f"{made.url}/db_default/v4/nts/submitRun", made.reports[1]))
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def test_lnt_shows_only_the_slower_row(server):
    assert server.regressions() == {"execution_time": [SLOW.replace("/", ".")]}


def test_lnt_keeps_a_regression_under_the_row_s_name(server):
    dotted = SLOW.replace("/", ".")
    (machine,) = server.api("machines")["machines"]
    fields = {field["column_name"]: field["column_id"] for field in server.api("fields")["fields"]}
    changed = {}
    for test in server.api("tests")["tests"]:
        path = f"regression/{machine['id']}/{test['id']}/{fields['execution_time']}"
        changed[test["name"]] = [found["title"] for found in server.api(path)]
    titles = {name: found for name, found in changed.items() if found}
    assert list(titles) == [dotted]
    # LNT truncates titles.
    assert titles[dotted][0].startswith("Regression of 1 benchmarks: op.embedding.memnet.first.")


def test_lnt_has_every_repetition_of_every_row(server):
    (base, _) = (json.loads(path.read_text()) for path in server.reports)
    samples = {}
    for sample in server.api("runs/1")["tests"]:
        samples.setdefault(sample["name"], []).append(sample["execution_time"])
    expected = {test["name"]: test["execution_time"] for test in base["tests"]}
    assert len(next(iter(expected.values()))) == len(made_up.REPETITIONS)
    assert {name: sorted(values) for name, values in samples.items()} == {
        name: sorted(values) for name, values in expected.items()
    }


def test_lnt_has_the_memory_of_a_step(server):
    bytes_of = {sample["name"]: sample["mem_bytes"] for sample in server.api("runs/1")["tests"]}
    dotted = made_up.step_name("memnet").replace("/", ".")
    assert bytes_of[dotted] == made_up.memory_fields()["memory_peak_bytes"]
    assert bytes_of[SLOW.replace("/", ".")] is None


def test_lnt_knows_machine_order_and_versions(server):
    machine = server.api("machines/Made-up-CPU-8-CPUs")
    assert machine["machine"]["hardware"] == "Made-up CPU"
    runs = machine["runs"]
    assert [run["start_time"][:10] for run in runs[:2]] == [date[:10] for date in DATES]
    orders = [run["llvm_project_revision"] for run in runs[:2]]
    assert orders == ["20260101000000-000000000000", "20260102000000-000000000000"]
    assert {run["libtorch"] for run in runs[:2]} == {"2.11.0"}


def test_lnt_takes_a_run_with_other_versions_on_the_same_machine(server, tmp_path):
    made = report(tmp_path, "newer", date="2026-01-03T00:00:00+00:00", libtorch="2.12.0")
    done(lnt("submit", f"{server.url}/db_default/v4/nts/submitRun", made))
    assert len(server.api("machines/Made-up-CPU-8-CPUs")["runs"]) == 3


def test_lnt_with_our_schema_shows_the_same_in_microseconds(server):
    assert server.regressions("fathom") == {"Step": [SLOW.replace("/", ".")]}
    (time_,) = [
        one for one in server.api("schema", "fathom")["metrics"] if one["name"] == "execution_time"
    ]
    assert time_["unit"] == "microseconds"
