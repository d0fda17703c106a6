"""The hub's settings for accounts: their user ids, and the teacher's server.

Only people with a user id can sign in. All servers share the exchange, where files belong to user
ids. So each server runs with its owner's user id, never with another one or as root.
"""

import os
from pathlib import Path

ACCOUNTS = Path("/etc/roofline")  # from the chart's roofline-users
TEACHER = (ACCOUNTS / "teacher").read_text()
TEACHING_IMAGE = os.environ["ROOFLINE_TEACHING_IMAGE"]
PASSWORD = {"secretKeyRef": {"name": "roofline-gradebook", "key": "password"}}


def account_numbers():
    """Return the user id of each account, by its name."""
    rows = (line.split(":") for line in (ACCOUNTS / "passwd").read_text().splitlines() if line)
    return {row[0]: int(row[2]) for row in rows}


def prepare_server(spawner):
    """Set the owner's user id. The teacher's server also gets the solutions and the gradebook."""
    name = spawner.user.name
    spawner.uid = spawner.gid = account_numbers()[name]
    # With an fsGroup, Kubernetes could change the group and modes of everyone's files in the
    # exchange, depending on the storage driver. So an init container sets the home's owner.
    spawner.fs_gid = None
    spawner.environment = {**spawner.environment, "HOME": f"/home/{name}", "USER": name}
    if name == TEACHER:
        spawner.image = TEACHING_IMAGE
        spawner.environment["PGPASSWORD"] = {"valueFrom": PASSWORD}  # PostgreSQL's clients read it
        spawner.environment["JUPYTER_CONFIG_PATH"] = "/opt/roofline/instructor"
        spawner.extra_labels = {**spawner.extra_labels, "roofline-role": "teacher"}
        spawner.mem_limit = "4G"


# Zero to JupyterHub runs this file with its own c, and a get_config that is not JupyterHub's.
c.Authenticator.allowed_users = set(account_numbers())  # noqa: F821
c.KubeSpawner.pre_spawn_hook = prepare_server  # noqa: F821
